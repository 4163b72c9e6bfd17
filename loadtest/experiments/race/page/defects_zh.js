// What package generations says of the defects of locks, in Chinese.

const defects = {
  'the lock never expires': '锁永不过期', 'the process crashes between two commands of TryLock': '进程在 TryLock 的两条命令之间崩溃',
  "unlock deletes another holder's lock": '解锁删掉了别人的锁', 'the holder pauses past its lease, then unlocks': '持有者停顿到租约过期，然后解锁',
  'the same, between two commands': '同上，发生在两条命令之间', 'the holder pauses between two commands of Unlock': '持有者在 Unlock 的两条命令之间停顿',
  'two processes have the same owner id': '两个进程的持有者标识相同', 'as above; both holders are thread 1 of their process': '同上；两个持有者都是各自进程的 1 号线程',
  "unlock without a lock deletes the holder's": '没拿到锁却解锁，删掉了持有者的锁', 'a process is refused, and its finally unlocks': '进程被拒绝，它的 finally 仍然解锁',
  'the lease is shorter than the work': '租约比业务短', 'the work takes three leases': '业务耗时为三个租约',
  'one lost renewal ends the lease': '丢失一次续期，租约就结束', 'the next renewal is lost; the work takes three leases': '下一次续期丢失；业务耗时为三个租约',
  'the holder is not told that renewals fail': '续期失败，持有者却不知道', 'the holder is cut off from the server': '持有者与服务器断开',
  "a renewal prolongs another holder's lock": '续期延长了别人的锁', 'the lease ends, the next holder locks and crashes': '租约结束，下一个持有者加锁后崩溃',
  'the inner unlock releases the outer lock': '里层解锁释放了外层的锁', 'locked twice, unlocked once': '加锁两次，解锁一次',
  'stock and sales disagree': '库存与销量对不上', 'a second order comes while the first locks twice': '第一单重入加锁时，第二单到来',
  'the second attempt succeeds without a lock': '没拿到锁，第二次尝试却成功', 'tries twice while another process holds the lock': '别的进程持有锁时尝试两次',
  're-entry after the lease has expired': '租约过期后重入', 'the lease expires, another process locks, the first re-enters': '租约过期，另一进程加锁，前一个重入',
  'unlock leaves its queue entry behind': '解锁后仍留在队列里', 'one process locks and unlocks, the next waits': '一个进程加锁又解锁，下一个等待',
  'a crashed waiter blocks the queue': '崩溃的等待者堵住队列', 'a waiter crashes, then the holder unlocks': '一个等待者崩溃，然后持有者解锁',
  'each release wakes every waiter': '每次释放都唤醒所有等待者', 'sixteen wait in ZooKeeper': '十六个在 ZooKeeper 中等待',
  'a failover loses the lock': '主从切换丢失锁', 'the master crashes before its replica has the lock': '主节点在从节点收到锁之前崩溃',
  'two failovers make three holders': '两次主从切换造成三个持有者', 'the master crashes, and then the replica in its place': '主节点崩溃，接替它的从节点又崩溃',
  "the lease ends when the server's clock says so": '租约何时结束由服务器的时钟说了算', 'the clock of a server steps past the lease': '服务器的时钟跳过了租约',
  'one hung node prevents locking': '一个卡住的节点使加锁失败', 'one of five nodes hangs': '五个节点中一个卡住',
  'the holder counts its lease too long': '持有者把租约算得太长', 'one of five nodes replies late': '五个节点中一个应答迟到',
  'a paused holder writes after its lease': '停顿的持有者在租约之后写入', 'the holder pauses past its lease, then writes': '持有者停顿到租约过期，然后写入',
};

export const zhDefect = text => defects[text] ?? text;

// The texts of trials, as package generations formats them: %1, %2 are its arguments.
const trials = {
  'crashed before each command (%d): free again after the lease': '在每条命令之前崩溃（共 %1 条）：租约到期，锁都会释放',
  'crashed before command %d: PTTL -1, the lock never expires': '在第 %1 条命令之前崩溃：PTTL 为 -1，锁永不过期',
  'paused before each command (%d): the next holder keeps the lock': '在每条命令之前停顿（共 %1 条）：下一个持有者的锁还在',
  "paused before command %d: A deleted B's lock and C locked too": '在第 %1 条命令之前停顿：A 删掉了 B 的锁，C 也加锁成功',
  'A deleted nothing; C is refused': 'A 什么也没有删掉，C 被拒绝',
  'B locked too': 'B 也加锁成功',
  "B, which had no lock, deleted A's, and C locked too": 'B 没有锁，却删掉了 A 的，C 也加锁成功',
  "B's unlock changes nothing; C is refused": 'B 的解锁不起作用，C 被拒绝',
  'B locked too after %.1f of 3 leases': '在 3 个租约的第 %1 个，B 也加锁成功',
  'B was refused for 3 leases and locked after the unlock': 'B 在 3 个租约内都被拒绝，解锁之后才加锁成功',
  '%s locked after %d ms': '%1在 %2 毫秒后加锁成功',
  '%.1f requests for each hand-over among %d waiters': '%2 个等待者，每次交接 %1 个请求',
  'the lock is free, and %s still waits after %s': '锁空着，%1等了 %2 还没有拿到',
  'refused after %s, though 4 of 5 nodes reply': '5 个节点有 4 个应答，却在 %1 后被拒绝',
  'locked after %s by the 4 of 5 nodes that reply': '5 个节点有 4 个应答，%1 后加锁成功',
  "B locked %s before A's lease ends by A's own count": '按 A 自己的计算租约还剩 %1，B 已加锁成功',
  'A counts its lease from before its first request; B locked after that': 'A 从发出第一个请求之前开始计算租约，B 在它到期之后才加锁成功',
  'the inner unlock released the lock: B locked too': '里层解锁就释放了锁：B 也加锁成功',
  'B is refused until the outer unlock': '外层解锁之前，B 一直被拒绝',
  "B ordered inside A's section: %d sold, stock %d of %d": 'B 在 A 的临界区内下了单：卖出 %1，库存 %2（原有 %3）',
  "B waits for A's outer unlock: %d sold, stock %d of %d": 'B 等 A 的外层解锁：卖出 %1，库存 %2（原有 %3）',
  "A's own lock refuses A: no sale is counted": 'A 被自己的锁拒绝：销量没有记上',
  "B's first attempt succeeded": 'B 的第一次尝试就成功了',
  "B's second attempt succeeded without a request to Redis": 'B 的第二次尝试没有请求 Redis 就“成功”了',
  'B is refused both times': 'B 两次都被拒绝',
  'A re-entered the lock that B holds': 'A 重入了 B 持有的锁',
  "A's re-entry is refused": 'A 的重入被拒绝',
  'A knew of its loss before B locked': 'B 加锁之前，A 已知道自己丢了锁',
  'B locked, and nothing has told A': 'B 加锁成功，没有什么告诉过 A',
  'A renews the lock that B died with: C is refused for 3 leases': 'B 崩溃后，A 还在给 B 的锁续期：C 在 3 个租约内都被拒绝',
  "C locked %.1f leases after B's crash": 'B 崩溃后过了 %1 个租约，C 加锁成功',
  'A is refused: no replica has its lock': 'A 被拒绝：没有从节点收到它的锁',
  "the others are refused: the other nodes have A's lock": '别人被拒绝：其余节点上有 A 的锁',
  '%d hold the lock; the database refuses the older fences': '%1 个持有者，数据库拒绝了较旧的 fence',
  "%d hold the lock; A's late write replaced %s's": '%1 个持有者，A 迟到的写入盖掉了 %2 的',

  'the process %s before command %d': '进程在第 %2 条命令之前%1',
  'the lease expires at the server': '租约在服务器上到期',
  "the server's clock steps past the lease": '服务器的时钟跳过了租约',
  'the master crashes, and its replica becomes master': '主节点崩溃，从节点成为主节点',
  'process %s': '进程 %1',
  'TryLock fails: %s': 'TryLock 失败：%1', 'TryLock succeeds': 'TryLock 成功', 'TryLock is refused': 'TryLock 被拒绝', Unlock: 'Unlock',

  'a thread renews every 20 of 30 s': '线程每 20 秒续一次 30 秒的锁', "Redisson's watchdog as printed": '文章贴出的 Redisson 看门狗',
  'list, polled': 'list 排队，轮询', 'one znode, watched by all': '所有人监视同一个 znode', 'RedLock in sequence': '依次请求的红锁',
};

// names are arguments of these texts.
const names = {
  'the second process': '第二个进程', 'the next waiter': '下一个等待者',
  crashes: '崩溃', pauses: '停顿', 'loses its request,': '丢失请求', 'is cut off from the server': '与服务器断开',
};

const escaped = text => text.replace(/[()[\]{}.*+?^$|\\]/g, '\\$&');
const patterns = Object.entries(trials).map(([format, zh]) =>
  [new RegExp(`^${format.split(/%[.\d]*[dsf]/).map(escaped).join('(.+?)')}$`), zh]);

export function zhTrial(text) {
  for (const [pattern, zh] of patterns) {
    const match = pattern.exec(text);
    if (match) return zh.replace(/%(\d)/g, (_, n) => names[match[n]] ?? match[n]);
  }
  return text;
}
