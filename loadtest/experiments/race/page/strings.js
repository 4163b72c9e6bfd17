// All texts of the page, in English and Chinese.
const en = {
  otherLanguage: '中文',
  space: ' ', comma: ', ', semicolon: '; ',
  chipText: (name, value) => `${name}: ${value}`,
  title: 'The race',
  lead: 'The same burst of claims, sent to real servers with one setting changed, and counted in the database.',
  skip: 'Skip to the race',
  tools: 'Files and language',
  open: 'Open a file',
  saveJSON: 'Save as JSON',
  saveHTML: 'Save as HTML',
  setup: 'The next race',
  preset: 'Preset',
  custom: 'my own settings',
  users: 'Users',
  claimsPerUser: 'Claims of each',
  perUser: 'Orders of each, at most',
  stock: 'Stock',
  segments: 'Segments of it',
  pause: 'Time in the lock, ms',
  start: 'Start', again: 'Start again', change: 'Change',
  running: 'Running …',
  changeSettings: 'Settings of each side',
  addSide: 'Add a side', removeSide: 'Remove the last side',
  sideSettings: side => `Side ${side}`,
  sideField: (side, name) => `${side}, ${name}`,
  lock: 'Lock', lock_scope: 'Scope', guards: 'Database guards', commit: 'Commit', instances: 'Instances', redis: 'Redis', lease_ms: 'Lease', fault: 'Fault',
  pauseShown: ms => `Every claim that has its lock stays in it for ${ms} ms longer.`,
  progress: 'Progress',
  phaseIdle: 'Ready. Start sends every claim at one moment.',
  phaseSaved: name => `A saved race: ${name}`,
  phases: {
    servers: () => 'Starting the servers of all sides …',
    claims: side => `Side ${side}: sending the claims …`,
    audit: side => `Side ${side}: counting the orders in the database …`,
  },
  phaseProgress: (side, answered, all) => `Side ${side}: ${answered} of ${all} claims answered`,
  failed: why => `The race failed: ${why}`,
  unreachable: 'The server does not answer. Is make race still running?',
  notARace: 'This file holds no race of this version.',
  problems: { invalid_race: '', race_running: 'Another race is running.', race_not_found: 'This race is not kept any more.' },
  timeTools: 'Time',
  play: '▶ Play', stop: '■ Stop',
  speed: 'Speed', realTime: 'real time', slower: n => `${n} × slower`,
  scrub: 'Moment that the pictures show',
  zoomIn: 'Zoom in', zoomOut: 'Zoom out', zoomReset: 'All', window: 'Part of the time that is shown',
  legend: 'Legend',
  keys: 'Click a line to see what happened inside. Drag to zoom, double-click for all, Ctrl + wheel or pinch. Keys: + − ← → Home End 0; ↑ ↓ step through the claims.',
  verdicts: {
    accepted: 'accepted', wrong: 'accepted, wrongly', already_claimed: 'already claimed', other: 'refused otherwise', sold_out: 'sold out',
    claim_in_progress: 'refused by the lock', refused: 'no verdict (503)', in_flight: 'not answered yet',
  },
  section: 'in the critical section', overlap: 'several at once',
  timeline: side => `Critical sections of side ${side}. Their numbers are in the table below.`,
  claimsTimeline: side => `Claims of side ${side}. Their numbers are in the table below.`,
  instance: name => `Instance ${name}`,
  unanswered: 'No answer yet',
  claimCount: n => `${n} ${n === '1' ? 'claim' : 'claims'}`,
  sections: 'Critical sections',
  sectionsNote: (keys, overlapping) => `${keys} ${keys === '1' ? 'key' : 'keys'}, ${overlapping === '0' ? 'none' : overlapping} overlapping`,
  openSections: 'Open critical sections',
  openNote: (keys, most) => `all ${keys} keys, at most ${most} at once`,
  key: (key, deepest) => deepest > 1 ? `${key}: ${deepest} at once` : key,
  keysRange: (from, to, all) => `Keys ${from}–${to} of ${all}, overlapping first`,
  previousKeys: 'Previous keys', nextKeys: 'Next keys',
  inside: 'Inside',
  claimOf: (n, instance) => `claim ${n} · ${instance}`,
  visible: n => `claim ${n} has committed`,
  statement: { none: 'no order', found: 'an order', counted: n => `counts ${n}`, stock: n => `stock ${n}`, unchanged: 'nothing changed', error: 'refused' },
  incident: {
    beyond: ({ user, first, second }, { looked, found, committed, inserted }) =>
      `User ${user}: claim ${second} counts ${found} orders at ${looked}. Claim ${first} commits its own at ${committed}. Claim ${second} inserts another one at ${inserted}, by what it has counted.`,
    duplicate: ({ user, first, second }, { looked, committed, inserted }) =>
      `User ${user}: claim ${second} looks at ${looked} and finds no order. Claim ${first} commits its own at ${committed}. Claim ${second} inserts another one at ${inserted}.`,
    oversold: ({ first, second }, { read, stock, committed, updated }) =>
      `Claim ${second} reads a stock of ${stock} at ${read}. Claim ${first} commits its unit at ${committed}. Claim ${second} takes one at ${updated}, by what it has read.`,
    index: ({ user, first, second }, { committed, inserted }) =>
      `User ${user}: claim ${second} inserts a second order at ${inserted}, and the unique key refuses it: claim ${first} commits at ${committed}.`,
    seen: ({ user, first, second }, { committed, entered, looked }) =>
      `User ${user}: claim ${first} commits at ${committed}. Claim ${second} enters only then, at ${entered}, looks at ${looked}, and finds the order.`,
    late: ({ user, first, second }, { committed, entered, looked }) =>
      `User ${user}: claim ${second} is inside since ${entered}, before claim ${first} commits at ${committed}; by chance it looks only at ${looked}, and finds the order.`,
    turns: ({ first, second }, { released, entered, stock }) =>
      `Claim ${second} waits for the lock. Claim ${first} has committed and leaves at ${released}; claim ${second} enters at ${entered} and reads what is left: a stock of ${stock}.`,
    locked: ({ user, first, second }, { granted, released }) =>
      `User ${user}: claim ${first} is inside from ${granted} to ${released}. Claim ${second} asks for the lock meanwhile and is refused.`,
    chosen: ({ user, first }, { granted, released }) => `User ${user}: claim ${first} is inside from ${granted} to ${released}.`,
  },
  chartStock: 'Stock and orders in the database', chartFlight: 'Claims in flight',
  seriesStock: 'stock left', seriesOrders: 'orders', seriesLimit: 'expected', seriesFlight: 'in flight', time: 'time',
  orders: n => `${n} ${n === '1' ? 'order' : 'orders'}`,
  expectedOrders: n => `${n} ${n === '1' ? 'order' : 'orders'} expected`,
  headline: {
    duplicates: (n, served, users) => `${n} duplicate ${n === '1' ? 'order' : 'orders'}, ${served} of ${users} users served`,
    beyond: limit => (n, served, users) => `${n} ${n === '1' ? 'order' : 'orders'} beyond ${limit} each, ${served} of ${users} users served`,
    oversold: (n, stock) => `${n} sold beyond the stock of ${stock}`,
    missing: (missing, unsold) => `${missing} acknowledged orders missing, ${unsold} units unsold`,
    soFar: (orders, sent) => `${orders} so far, of ${sent} claims sent`,
    right: 'as it should be',
    instead: (n, expected) => `${n} orders in all, ${expected} would be right`,
    failed: n => `${n} claims failed under the fault, as their users were told`,
    lucky: ', but nothing has kept it',
  },
  judged: { held: 'held', broke: 'broke, as it must', lucky: 'lucky: overlaps, no harm; repeat', wrong: 'broke, and must hold', void: 'not put to the test' },
  with: (text, harm) => `${text}: ${harm}`,
  open_: 'not audited yet', notYet: 'so far',
  promises: {
    stock: ['Never oversold', n => `${n} beyond the stock`],
    one_each: ['One order per user', n => `${n} ${n === '1' ? 'duplicate' : 'duplicates'}`],
    all_sold: ['All sold, none missing', n => `${n} missing or unsold`],
  },
  atMost: limit => `At most ${limit} orders per user`,
  idle: (claims, users, each, stock) => `${claims} claims: ${users} ${users === '1' ? 'user' : 'users'}, ${each} simultaneous claims each. Stock: ${stock}.`,
  reconnecting: 'The connection was lost. Connecting again …',
  numbers: 'The numbers',
  number: 'Number',
  rows: {
    sent: 'claims sent', orders: 'orders in the database', expected: 'orders expected', duplicates: 'duplicates', oversold: 'oversold',
    undersold: 'undersold', missing: 'acknowledged orders that are missing', keys: 'keys', overlaps: 'critical sections entered while another was inside',
    deepest: 'most at once in one critical section', wait: 'longest wait for the lock', last: 'last answer after',
    auditOrders: 'orders, by the service’s audit', auditUsers: 'users with an order, by the service’s audit', auditMost: 'most orders of one user, by the service’s audit', auditStock: 'stock left, by the service’s audit',
  },
  history: 'Races that are kept',
  historyHint: 'In out/race, the last 50. A letter puts a side into that place, beside any others.',
  states: { starting: 'starting', running: 'running', ended: 'ended', failed: 'failed' },
  startedAt: 'Started', state: 'State', sides: 'Sides', whole: 'Race', show: 'Show',
  sideAs: (name, place) => `Show ${name} as side ${place}`,
  environment: 'Measured on',
  locks: {
    none: 'no lock', local: 'local mutex', redis: 'Redis lock', redisson: 'Redisson lock', redlock: 'RedLock', mysql: 'MySQL row lock',
    getlock: 'MySQL GET_LOCK', zk: 'ZooKeeper lock', etcd: 'etcd lock', memcache: 'memcached lock',
  },
  lockPer: (lock, scope) => `${lock} per ${scope}`,
  commits: { each: 'a transaction each', optimistic: 'version column', pessimistic: 'SELECT … FOR UPDATE', grouped: 'shared transactions' },
  values: {},
  faults: { none: 'no fault', suspended: 'holder suspended', emptied: 'Redis restarted empty' },
  struck: (fault, instance) => `${fault}, instance ${instance}`,
  claims: (users, each) => `${users} × ${each} claims`,
  limitOf: n => `at most ${n} each`,
  segmentsOf: n => `stock in ${n} segments`,
  withoutGuard: { stock: 'no stock condition', unique: 'no unique key' }, allGuards: 'all guards',
  acquire: 'take', release: 'release',
  noCommand: { none: 'no command is sent: nothing is locked', local: 'no command is sent: a mutex in the memory of each instance' },
  mutexOf: subject => `${subject}, a mutex of each instance`,
  numbered: (user, n) => `${user}, number ${n}`,
  subjects: { user: id => `user ${id}`, coupon: () => 'the coupon', segment: n => `segment ${n}` },
  chip: { lock_scope: 'scope', guards: 'guards', commit: 'commit', instances: 'instances', redis: 'Redis', lease_ms: 'lease', fault: 'fault' },
  guardNames: { unique: 'unique key', stock: 'stock condition' },
  none: 'none',
  differs: ' (differs)',
  story: {
    none: 'Point at a line, or press ↑ ↓ on the claims, for the story of one claim.',
    claim: (n, user, instance) => `Claim ${n} of user ${user}, instance ${instance}.`,
    sent: t => `Sent at ${t}.`,
    waited: t => `Waited ${t} for the lock.`,
    inside: (t, others) => others > 0 ? `${t} in the critical section, with ${others} other${others > 1 ? 's' : ''} inside at the same time.` : `${t} in the critical section, alone.`,
    flying: 'Not answered yet.',
    answered: (t, verdict) => `Answered after ${t}: ${verdict}.`,
    order: id => `Order ${id}.`,
    status: (status, code) => `HTTP ${status}${code ? ` ${code}` : ''}.`,
    section: (key, user, instance) => `Critical section ${key}: user ${user}, instance ${instance}.`,
  },
};

const zhScopes = { user: '用户', coupon: '优惠券', segment: '分段' };

const zh = {
  otherLanguage: 'English',
  space: '', comma: '，', semicolon: '；',
  chipText: (name, value) => `${name}：${value}`,
  title: '并发竞争现场',
  lead: '同一批抢券请求，发往真实的服务器，各方只改变一项设置，结果在数据库中清点。',
  skip: '跳到竞争画面',
  tools: '文件与语言',
  open: '打开文件',
  saveJSON: '保存为 JSON',
  saveHTML: '保存为 HTML',
  setup: '下一场竞争',
  preset: '预设',
  custom: '自定义设置',
  users: '用户数',
  claimsPerUser: '每人请求数',
  perUser: '每人限购',
  stock: '库存',
  segments: '库存分段数',
  pause: '持锁停留（毫秒）',
  start: '开始', again: '再来一次', change: '修改',
  running: '进行中……',
  changeSettings: '各方的设置',
  addSide: '增加一方', removeSide: '去掉最后一方',
  sideSettings: side => `${side} 方`,
  sideField: (side, name) => `${side}的${name}`,
  lock: '锁', lock_scope: '锁的范围', guards: '数据库保护', commit: '提交方式', instances: '实例数', redis: 'Redis', lease_ms: '租约', fault: '故障',
  pauseShown: ms => `每个拿到锁的请求都在锁内多停留 ${ms} 毫秒。`,
  progress: '进度',
  phaseIdle: '就绪。点击“开始”，所有请求同一时刻发出。',
  phaseSaved: name => `已保存的竞争：${name}`,
  phases: {
    servers: () => '正在启动各方的服务器……',
    claims: side => `${side} 方：正在发出请求……`,
    audit: side => `${side} 方：正在清点数据库中的订单……`,
  },
  phaseProgress: (side, answered, all) => `${side} 方：${all} 个请求中已应答 ${answered} 个`,
  failed: why => `竞争失败：${why}`,
  unreachable: '服务器没有应答。make race 还在运行吗？',
  notARace: '这个文件里没有这个版本的竞争数据。',
  problems: { invalid_race: '', race_running: '另一场竞争正在进行。', race_not_found: '这场竞争已不再保留。' },
  timeTools: '时间',
  play: '▶ 播放', stop: '■ 停止',
  speed: '速度', realTime: '实际速度', slower: n => `放慢 ${n} 倍`,
  scrub: '画面所示的时刻',
  zoomIn: '放大', zoomOut: '缩小', zoomReset: '全部', window: '画面所示的时间段',
  legend: '图例',
  keys: '点击一条线，查看临界区内发生了什么。拖动选区放大，双击显示全部，Ctrl + 滚轮或双指缩放。键盘：+ − ← → Home End 0；↑ ↓ 逐个查看请求。',
  verdicts: {
    accepted: '成功', wrong: '不该成功', already_claimed: '已抢过', other: '因其他原因被拒', sold_out: '已售罄',
    claim_in_progress: '被锁拒绝', refused: '结果未知（503）', in_flight: '尚未应答',
  },
  section: '在临界区内', overlap: '多个同时在内',
  timeline: side => `${side} 方的临界区。数字见下方表格。`,
  claimsTimeline: side => `${side} 方的请求。数字见下方表格。`,
  instance: name => `实例 ${name}`,
  unanswered: '尚无应答',
  claimCount: n => `${n} 个请求`,
  sections: '临界区',
  sectionsNote: (keys, overlapping) => `${keys} 个键，${overlapping === '0' ? '没有' : `${overlapping} 个`}重叠`,
  openSections: '同时在临界区内的请求数',
  openNote: (keys, most) => `全部 ${keys} 个键，最多同时 ${most} 个`,
  key: (key, deepest) => deepest > 1 ? `${key}：同时 ${deepest} 个` : key,
  keysRange: (from, to, all) => `第 ${from}–${to} 个键，共 ${all} 个，重叠的在前`,
  previousKeys: '前面的键', nextKeys: '后面的键',
  inside: '临界区内部',
  claimOf: (n, instance) => `请求 ${n} · ${instance}`,
  visible: n => `请求 ${n} 已提交`,
  statement: { none: '没有订单', found: '已有订单', counted: n => `点得 ${n} 个`, stock: n => `库存 ${n}`, unchanged: '没有改动', error: '被拒绝' },
  incident: {
    beyond: ({ user, first, second }, { looked, found, committed, inserted }) =>
      `用户 ${user}：请求 ${second} 在 ${looked} 点得 ${found} 个订单；请求 ${first} 在 ${committed} 提交了自己的订单；请求 ${second} 在 ${inserted} 仍按点得的数目再插入一个。`,
    duplicate: ({ user, first, second }, { looked, committed, inserted }) =>
      `用户 ${user}：请求 ${second} 在 ${looked} 查询，没有查到订单；请求 ${first} 在 ${committed} 提交了自己的订单；请求 ${second} 在 ${inserted} 又插入了一个订单。`,
    oversold: ({ first, second }, { read, stock, committed, updated }) =>
      `请求 ${second} 在 ${read} 读到库存 ${stock}；请求 ${first} 在 ${committed} 提交，取走一张；请求 ${second} 在 ${updated} 仍按读到的库存再扣一张。`,
    index: ({ user, first, second }, { committed, inserted }) =>
      `用户 ${user}：请求 ${second} 在 ${inserted} 插入第二个订单，被唯一索引拒绝；请求 ${first} 在 ${committed} 提交。`,
    seen: ({ user, first, second }, { committed, entered, looked }) =>
      `用户 ${user}：请求 ${first} 在 ${committed} 提交；请求 ${second} 在此之后才于 ${entered} 进入，在 ${looked} 查询，查到了这个订单。`,
    late: ({ user, first, second }, { committed, entered, looked }) =>
      `用户 ${user}：请求 ${second} 在 ${entered} 就已进入，早于请求 ${first} 在 ${committed} 的提交；只是碰巧到 ${looked} 才查询，查到了订单。`,
    turns: ({ first, second }, { released, entered, stock }) =>
      `请求 ${second} 等待锁；请求 ${first} 提交后在 ${released} 离开；请求 ${second} 在 ${entered} 进入，读到剩下的库存 ${stock}。`,
    locked: ({ user, first, second }, { granted, released }) =>
      `用户 ${user}：请求 ${first} 从 ${granted} 到 ${released} 在临界区内；请求 ${second} 在此期间申请锁，被拒绝。`,
    chosen: ({ user, first }, { granted, released }) => `用户 ${user}：请求 ${first} 从 ${granted} 到 ${released} 在临界区内。`,
  },
  chartStock: '数据库中的库存与订单', chartFlight: '在途请求',
  seriesStock: '剩余库存', seriesOrders: '订单', seriesLimit: '应有的订单数', seriesFlight: '在途', time: '时间',
  orders: n => `${n} 个订单`,
  expectedOrders: n => `应有 ${n} 个订单`,
  headline: {
    duplicates: (n, served, users) => `${n} 个重复订单，${users} 个用户中 ${served} 个抢到`,
    beyond: limit => (n, served, users) => `${n} 个订单超出每人 ${limit} 张，${users} 个用户中 ${served} 个抢到`,
    oversold: (n, stock) => `库存 ${stock} 张，超卖 ${n} 张`,
    missing: (missing, unsold) => `丢失 ${missing} 个已确认的订单，${unsold} 张没有卖出`,
    soFar: (orders, sent) => `到此刻 ${orders}，已发出 ${sent} 个请求`,
    right: '正确',
    instead: (n, expected) => `一共 ${n} 个订单，正确的是 ${expected} 个`,
    failed: n => `故障中有 ${n} 个请求失败，用户都得到了通知`,
    lucky: '，但没有任何东西保证它',
  },
  judged: { held: '守住', broke: '被打破，理应如此', lucky: '侥幸：有重叠而无损害，请重复', wrong: '被打破，本应守住', void: '没有受到考验' },
  with: (text, harm) => `${text}：${harm}`,
  open_: '尚未核对', notYet: '到此刻未被打破',
  promises: {
    stock: ['不超卖', n => `超出库存 ${n} 张`],
    one_each: ['一人一单', n => `重复 ${n} 单`],
    all_sold: ['不少卖、不丢单', n => `丢失或未售 ${n} 张`],
  },
  atMost: limit => `每人最多 ${limit} 单`,
  idle: (claims, users, each, stock) => `${claims} 个请求：${users} 个用户，每人同时 ${each} 个。库存 ${stock}。`,
  reconnecting: '连接中断，正在重新连接……',
  numbers: '数字',
  number: '项目',
  rows: {
    sent: '发出的请求', orders: '数据库中的订单', expected: '应有的订单数', duplicates: '重复订单', oversold: '超卖',
    undersold: '少卖', missing: '已确认但丢失的订单', keys: '键的数量', overlaps: '已有请求在内时又进入临界区的次数',
    deepest: '同一临界区内同时最多的请求数', wait: '等待锁的最长时间', last: '到最后一个应答的用时',
    auditOrders: '订单（服务自己的核对）', auditUsers: '有订单的用户（服务自己的核对）', auditMost: '单个用户的最多订单（服务自己的核对）', auditStock: '剩余库存（服务自己的核对）',
  },
  history: '保留的竞争',
  historyHint: '保存在 out/race，最近 50 场。点击字母，把这一方放到那个位置，与其他任何一方并排。',
  states: { starting: '启动中', running: '进行中', ended: '已结束', failed: '失败' },
  startedAt: '开始时间', state: '状态', sides: '各方', whole: '竞争', show: '显示',
  sideAs: (name, place) => `把“${name}”显示为 ${place} 方`,
  environment: '测量环境',
  locks: {
    none: '不加锁', local: '进程内锁', redis: 'Redis 锁', redisson: 'Redisson 锁', redlock: '红锁', mysql: 'MySQL 行锁',
    getlock: 'MySQL GET_LOCK', zk: 'ZooKeeper 锁', etcd: 'etcd 锁', memcache: 'memcached 锁',
  },
  lockPer: (lock, scope) => `按${zhScopes[scope] ?? scope}的${/^[A-Za-z]/.test(lock) ? ' ' : ''}${lock}`,
  commits: { each: '一单一个事务', optimistic: '版本号', pessimistic: 'SELECT … FOR UPDATE', grouped: '合并事务' },
  values: {
    lock_scope: zhScopes, commit: { each: '一单一个事务', optimistic: '版本号', pessimistic: 'SELECT … FOR UPDATE', grouped: '合并事务' },
    redis: { single: '单机', replicas: '主从', sentinel: '哨兵', cluster: '集群' },
  },
  faults: { none: '无故障', suspended: '持有者停顿', emptied: 'Redis 重启后数据为空' },
  struck: (fault, instance) => `${fault}，实例 ${instance}`,
  claims: (users, each) => `${users} × ${each} 个请求`,
  limitOf: n => `每人限 ${n} 张`,
  segmentsOf: n => `库存分 ${n} 段`,
  withoutGuard: { stock: '无库存条件', unique: '无唯一索引' }, allGuards: '全部保护',
  acquire: '加锁', release: '释放',
  noCommand: { none: '不发送任何命令：什么都没有锁', local: '不发送任何命令：每个实例在自己的内存里有一把锁' },
  mutexOf: subject => `${subject}，每个实例各一把锁`,
  numbered: (user, n) => `${user} 的第 ${n} 张`,
  subjects: { user: id => `用户 ${id}`, coupon: () => '优惠券', segment: n => `第 ${n} 段` },
  chip: { lock_scope: '范围', guards: '保护', commit: '提交', instances: '实例', redis: 'Redis', lease_ms: '租约', fault: '故障' },
  guardNames: { unique: '唯一索引', stock: '库存条件' },
  none: '无',
  differs: '（不同）',
  story: {
    none: '指向一条线，或在请求上按 ↑ ↓，查看单个请求的经过。',
    claim: (n, user, instance) => `请求 ${n}，用户 ${user}，实例 ${instance}。`,
    sent: t => `${t} 时发出。`,
    waited: t => `等锁 ${t}。`,
    inside: (t, others) => others > 0 ? `在临界区内 ${t}，同时还有 ${others} 个在内。` : `在临界区内 ${t}，独自一个。`,
    flying: '尚未应答。',
    answered: (t, verdict) => `${t} 后应答：${verdict}。`,
    order: id => `订单 ${id}。`,
    status: (status, code) => `HTTP ${status}${code ? ` ${code}` : ''}。`,
    section: (key, user, instance) => `临界区 ${key}：用户 ${user}，实例 ${instance}。`,
  },
};

const languages = { en, zh };

// strings are the texts of the present language. setLanguage changes them.
export let strings = en;
export let language = 'en';

export function setLanguage(name) {
  language = name in languages ? name : 'en';
  strings = languages[language];
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  document.title = strings.title;
}

// preferredLanguage is the one of the address (#lang=zh), else the browser's.
export function preferredLanguage() {
  const chosen = new URLSearchParams(location.hash.slice(1)).get('lang');
  return chosen ?? (navigator.languages.find(l => /^(en|zh)/.test(l)) ?? 'en').slice(0, 2);
}

// label fills the elements below root that name their texts.
export function label(root) {
  for (const e of root.querySelectorAll('[data-text]')) e.textContent = strings[e.dataset.text];
  for (const e of root.querySelectorAll('[data-label]')) e.setAttribute('aria-label', strings[e.dataset.label]);
}

// number returns a number as the language writes it.
export const number = n => new Intl.NumberFormat(language).format(n);

// inLanguage returns a text that the server sends in both languages, or in one.
export const inLanguage = text => text?.[language] || text?.en || '';
