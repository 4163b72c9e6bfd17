// All texts of the page, in English and Chinese.

const en = {
  otherLanguage: '中文',
  title: 'The race',
  lead: 'The same burst of claims, sent twice to real servers with one setting changed, and counted in the database.',
  skip: 'Skip to the race',
  tools: 'Files and language',
  open: 'Open a saved race',
  saveJSON: 'Save as JSON',
  saveHTML: 'Save as HTML',
  setup: 'The next race',
  preset: 'Preset',
  custom: 'my own settings',
  users: 'Users',
  claimsPerUser: 'Claims of each',
  stock: 'Stock',
  pause: 'Slow motion, ms',
  start: 'Start',
  running: 'Running …',
  changeSettings: 'Settings of A and B',
  sideSettings: side => `Side ${side}`,
  lock: 'Lock', lock_scope: 'Scope', guards: 'Database guards', commit: 'Commit', instances: 'Instances', redis: 'Redis',
  pauseShown: ms => `Slow motion: every critical section pauses for ${ms} ms.`,
  progress: 'Progress',
  phaseIdle: 'Ready. Start sends every claim at one moment.',
  phaseSaved: name => `A saved race: ${name}`,
  phases: {
    servers: 'Starting the servers of both sides …',
    claims_0: 'Side A: sending the claims …', audit_0: 'Side A: counting the orders in the database …',
    claims_1: 'Side B: sending the claims …', audit_1: 'Side B: counting the orders in the database …',
  },
  phaseEnded: 'Both sides have ended.',
  phaseProgress: (side, answered, all) => `Side ${side}: ${answered} of ${all} claims answered`,
  failed: why => `The race failed: ${why}`,
  unreachable: 'The server does not answer. Is make race still running?',
  notARace: 'This file holds no race.',
  timeTools: 'Time',
  play: '▶ Play', stop: '■ Stop',
  scrub: 'Moment that the pictures show',
  zoomIn: 'Zoom in', zoomOut: 'Zoom out', zoomReset: 'All', window: 'Part of the time that is shown',
  legend: 'Legend',
  keys: 'Drag to zoom, double-click for all, Ctrl + wheel or pinch. Keys: + − ← → Home End 0; ↑ ↓ step through the claims.',
  verdicts: {
    accepted: 'accepted', already_claimed: 'already claimed', sold_out: 'sold out',
    claim_in_progress: 'refused by the lock', refused: 'no verdict (503)', in_flight: 'not answered yet',
  },
  section: 'in the critical section', overlap: 'several at once',
  timeline: side => `Timeline of side ${side}. Its numbers are in the table below.`,
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
  chartStock: 'Stock and orders in the database', chartFlight: 'Claims in flight',
  seriesStock: 'stock left', seriesOrders: 'orders', seriesLimit: 'expected', seriesFlight: 'in flight', time: 'time',
  orders: n => `${n} ${n === '1' ? 'order' : 'orders'}`,
  expected: n => `${n} expected`,
  expectedOrders: n => `${n} ${n === '1' ? 'order' : 'orders'} expected`,
  difference: { duplicates: n => `${n} ${n === '1' ? 'is a duplicate' : 'are duplicates'}`, oversold: n => `${n} oversold`, missing: n => `${n} missing` },
  held: 'held', broken: 'broken', open_: 'not audited yet',
  promises: {
    stock: ['Never oversold', n => `${n} sold beyond the stock`],
    one_each: ['One order per user', n => `${n} ${n === '1' ? 'order' : 'orders'} too many`],
    all_sold: ['All sold, none missing', n => `${n} missing or unsold`],
  },
  idle: (claims, users, each, stock) => `${claims} claims: ${users} ${users === '1' ? 'user' : 'users'}, ${each} simultaneous claims each. Stock: ${stock}.`,
  reconnecting: 'The connection was lost. Connecting again …',
  source: (file, from, to) => `${file}, lines ${from} to ${to}`,
  numbers: 'The numbers',
  number: 'Number',
  rows: {
    sent: 'claims sent', orders: 'orders in the database', expected: 'orders expected', duplicates: 'duplicates', oversold: 'oversold',
    undersold: 'undersold', missing: 'acknowledged orders that are missing', keys: 'keys', overlaps: 'critical sections entered while another was inside',
    deepest: 'most at once in one critical section', wait: 'longest wait for the lock', last: 'last answer after',
    auditOrders: 'orders, by the service’s audit', auditUsers: 'users with an order, by the service’s audit', auditMost: 'most orders of one user, by the service’s audit', auditStock: 'stock left, by the service’s audit',
  },
  history: 'Races of this session',
  historyHint: 'Choose any two sides to see them next to each other.',
  states: { starting: 'starting', running: 'running', ended: 'ended', failed: 'failed' },
  race: 'Race', startedAt: 'Started', sideAs: (side, place) => `Show side ${side} on the ${place}`, left: 'left', right_: 'right', both: 'Show both', state: 'State',
  environment: 'Measured on',
  noLock: 'no lock',
  locks: {
    local: 'local mutex', redis: 'Redis lock', redisson: 'Redisson lock', redlock: 'Redlock', mysql: 'MySQL row lock',
    getlock: 'MySQL GET_LOCK', zk: 'ZooKeeper lock', etcd: 'etcd lock', memcache: 'memcached lock',
  },
  lockPer: (lock, scope) => `${lock} per ${scope}`,
  chip: { lock: 'lock', lock_scope: 'scope', guards: 'guards', commit: 'commit', instances: 'instances', redis: 'redis' },
  guardNames: { unique: 'unique key', stock: 'stock condition' },
  none: 'none',
  differs: 'differs',
  story: {
    none: 'Point at a line, or press ↑ ↓ on the timeline, for the story of one claim.',
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

const zh = {
  otherLanguage: 'English',
  title: '并发竞争现场',
  lead: '同一批抢券请求，两次发往真实的服务器，只改变一项设置，结果在数据库中清点。',
  skip: '跳到竞争画面',
  tools: '文件与语言',
  open: '打开已保存的竞争',
  saveJSON: '保存为 JSON',
  saveHTML: '保存为 HTML',
  setup: '下一场竞争',
  preset: '预设',
  custom: '自定义设置',
  users: '用户数',
  claimsPerUser: '每人请求数',
  stock: '库存',
  pause: '慢动作（毫秒）',
  start: '开始',
  running: '进行中……',
  changeSettings: 'A、B 两侧的设置',
  sideSettings: side => `${side} 侧`,
  lock: '锁', lock_scope: '锁的范围', guards: '数据库防线', commit: '提交方式', instances: '实例数', redis: 'Redis',
  pauseShown: ms => `慢动作：每个临界区都停留 ${ms} 毫秒。`,
  progress: '进度',
  phaseIdle: '就绪。点击“开始”，所有请求同一时刻发出。',
  phaseSaved: name => `已保存的竞争：${name}`,
  phases: {
    servers: '正在启动两侧的服务器……',
    claims_0: 'A 侧：正在发出请求……', audit_0: 'A 侧：正在清点数据库中的订单……',
    claims_1: 'B 侧：正在发出请求……', audit_1: 'B 侧：正在清点数据库中的订单……',
  },
  phaseEnded: '两侧都已结束。',
  phaseProgress: (side, answered, all) => `${side} 侧：${all} 个请求中已应答 ${answered} 个`,
  failed: why => `竞争失败：${why}`,
  unreachable: '服务器没有应答。make race 还在运行吗？',
  notARace: '这个文件里没有竞争数据。',
  timeTools: '时间',
  play: '▶ 播放', stop: '■ 停止',
  scrub: '画面所示的时刻',
  zoomIn: '放大', zoomOut: '缩小', zoomReset: '全部', window: '画面所示的时间段',
  legend: '图例',
  keys: '拖动选区放大，双击显示全部，Ctrl + 滚轮或双指缩放。键盘：+ − ← → Home End 0；↑ ↓ 逐个查看请求。',
  verdicts: {
    accepted: '成功', already_claimed: '已领取过', sold_out: '已售罄',
    claim_in_progress: '被锁拒绝', refused: '无结论（503）', in_flight: '尚未应答',
  },
  section: '在临界区内', overlap: '多个同时在内',
  timeline: side => `${side} 侧的时间线。数字见下方表格。`,
  instance: name => `实例 ${name}`,
  unanswered: '尚无应答',
  claimCount: n => `${n} 个请求`,
  sections: '临界区',
  sectionsNote: (keys, overlapping) => `${keys} 个键，${overlapping === '0' ? '没有' : `${overlapping} 个`}重叠`,
  openSections: '打开的临界区数',
  openNote: (keys, most) => `全部 ${keys} 个键，最多同时 ${most} 个`,
  key: (key, deepest) => deepest > 1 ? `${key}：同时 ${deepest} 个` : key,
  keysRange: (from, to, all) => `第 ${from}–${to} 个键，共 ${all} 个，重叠的在前`,
  previousKeys: '前面的键', nextKeys: '后面的键',
  chartStock: '数据库中的库存与订单', chartFlight: '在途请求',
  seriesStock: '剩余库存', seriesOrders: '订单', seriesLimit: '应有的订单数', seriesFlight: '在途', time: '时间',
  orders: n => `${n} 个订单`,
  expected: n => `应为 ${n} 个`,
  expectedOrders: n => `应有 ${n} 个订单`,
  difference: { duplicates: n => `重复 ${n} 个`, oversold: n => `超卖 ${n} 个`, missing: n => `丢失 ${n} 个` },
  held: '守住', broken: '被打破', open_: '尚未审计',
  promises: {
    stock: ['绝不超卖', n => `超出库存 ${n} 单`],
    one_each: ['每人一单', n => `多出 ${n} 单`],
    all_sold: ['售完且不丢单', n => `丢失或未售 ${n} 单`],
  },
  idle: (claims, users, each, stock) => `${claims} 个请求：${users} 个用户，每人同时 ${each} 个。库存 ${stock}。`,
  reconnecting: '连接中断，正在重新连接……',
  source: (file, from, to) => `${file}，第 ${from} 到 ${to} 行`,
  numbers: '数字',
  number: '项目',
  rows: {
    sent: '发出的请求', orders: '数据库中的订单', expected: '应有的订单数', duplicates: '重复订单', oversold: '超卖',
    undersold: '少卖', missing: '已确认但丢失的订单', keys: '键的数量', overlaps: '已有请求在内时又进入临界区的次数',
    deepest: '同一临界区内最多同时', wait: '等待锁的最长时间', last: '最后一个应答',
    auditOrders: '订单（服务自身的审计）', auditUsers: '有订单的用户（服务自身的审计）', auditMost: '单个用户的最多订单（服务自身的审计）', auditStock: '剩余库存（服务自身的审计）',
  },
  history: '本次会话的竞争',
  historyHint: '任选两侧，并排查看。',
  states: { starting: '启动中', running: '进行中', ended: '已结束', failed: '失败' },
  race: '竞争', startedAt: '开始时间', sideAs: (side, place) => `把 ${side} 侧放在${place}`, left: '左边', right_: '右边', both: '显示两侧', state: '状态',
  environment: '测量环境',
  noLock: '不加锁',
  locks: {
    local: '本地互斥锁', redis: 'Redis 锁', redisson: 'Redisson 锁', redlock: 'Redlock', mysql: 'MySQL 行锁',
    getlock: 'MySQL GET_LOCK', zk: 'ZooKeeper 锁', etcd: 'etcd 锁', memcache: 'memcached 锁',
  },
  lockPer: (lock, scope) => `按${{ user: '用户', coupon: '优惠券' }[scope] ?? scope}的 ${lock}`,
  chip: { lock: '锁', lock_scope: '范围', guards: '防线', commit: '提交', instances: '实例', redis: 'redis' },
  guardNames: { unique: '唯一键', stock: '库存条件' },
  none: '无',
  differs: '不同',
  story: {
    none: '指向一条线，或在时间线上按 ↑ ↓，查看单个请求的经过。',
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
