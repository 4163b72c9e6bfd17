package flashsale_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// articleSections are the sections of the five articles that docs/articles.md walks,
// in Chinese, as in the articles. Two of them have no headings: theirs are the
// subjects in order.
var articleSections = []struct{ number, title string }{
	{"000.1", "分布式锁的条件"},
	{"000.2", "数据库、Redis、Zookeeper 三种方式"},
	{"000.3", "SETNX、EXPIRE、DEL"},
	{"000.4", "SET NX EX"},
	{"000.5", "Lua 脚本加锁、解锁"},
	{"000.6", "SETNX 已被 SET NX 取代"},
	{"000.7", "SimpleRedisLock 和 CouponOrderServiceImpl"},
	{"000.8", "误删问题"},
	{"000.9", "UUID 前缀"},
	{"000.10", "判断锁和释放锁必须是原子操作"},
	{"000.11", "可重入、可重试、自动续期、主从一致性"},
	{"001.1", "特性"},
	{"001.2", "基于数据库：乐观锁实现"},
	{"001.3", "基于数据库：悲观锁"},
	{"001.4", "基于 Redis：setnx 命令"},
	{"001.5", "Redlock 算法"},
	{"001.6", "Redisson 的加锁、释放锁脚本"},
	{"001.7", "GC 的 STW、时钟跳跃、长时间网络 I/O"},
	{"001.8", "锁续约机制"},
	{"001.9", "基于 ZooKeeper"},
	{"001.10", "基于 Memcached"},
	{"002.1", "SETNX"},
	{"002.2", "死锁问题"},
	{"002.3", "锁超时问题"},
	{"002.4", "归一问题"},
	{"002.5", "可重入问题"},
	{"002.6", "阻塞与非阻塞问题"},
	{"003.1", "1. 使用SETNX实现"},
	{"003.2", "2. 使用SET命令的NX和EX参数"},
	{"003.3", "3. 使用Redisson实现"},
	{"003.4", "4. 使用RedLock算法实现"},
	{"003.5", "5. 实现可重入锁"},
	{"003.6", "6. 实现公平锁"},
	{"003.7", "缺陷 1. 主从切换问题"},
	{"003.8", "缺陷 2. 锁过期问题"},
	{"003.9", "缺陷 3. 锁误释放问题"},
	{"003.10", "缺陷 4. 性能问题"},
	{"003.11", "缺陷 5. 可靠性问题"},
	{"003.12", "缺陷 6. 时钟漂移问题"},
	{"003.13", "缺陷 7. 锁续期失败问题"},
	{"003.14", "最佳实践 1. 使用Redisson"},
	{"003.15", "最佳实践 2. 设置合理的过期时间"},
	{"003.16", "最佳实践 3. 使用唯一的锁标识"},
	{"003.17", "最佳实践 4. 实现锁续期机制"},
	{"003.18", "最佳实践 5. 实现锁等待机制"},
	{"003.19", "最佳实践 6. 实现锁超时机制"},
	{"003.20", "最佳实践 7. 监控锁的使用情况"},
	{"003.21", "总结"},
	{"004.1", "环境准备"},
	{"004.2", "单节点"},
	{"004.3", "主从（1主3从）"},
	{"004.4", "哨兵（1主3从3sentinel）"},
	{"004.5", "集群（3主3从）"},
	{"004.6", "分布式锁应用举例"},
	{"004.7", "使用tengine（nginx）做负载均衡"},
	{"004.8", "JMeter压力测试配置"},
	{"004.9", "轮子：Redisson"},
	{"004.10", "不加锁"},
	{"004.11", "加synchronized同步锁"},
	{"004.12", "主角登场-分布式锁"},
	{"004.13", "RedissonLock加锁源码分析"},
	{"004.14", "RedisRedLock 红锁"},
	{"004.15", "RedLock算法步骤"},
	{"004.16", "使用RedLock实现分布式锁"},
}

// articlePages are the page in both languages.
var articlePages = []string{"docs/articles.zh-CN.md", "docs/articles.md"}

// defect is a row of make generations, which the pages write in italics.
var defect = regexp.MustCompile(`\*([a-z][a-z' ,-]+)\*`)

// articleRows returns the cells of a page's rows by the number of their section.
func articleRows(tb testing.TB, page string) map[string][]string {
	tb.Helper()
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (00\d\.\d+) (.+) \|$`).FindAllStringSubmatch(read(tb, page), -1) {
		rows[m[1]] = strings.Split(m[2], " | ")
	}
	return rows
}

func TestArticlesAreWalkedSectionBySection(t *testing.T) {
	t.Parallel()
	const command = 2
	for _, page := range articlePages {
		rows := articleRows(t, page)
		if len(rows) != len(articleSections) {
			t.Errorf("%s has %d rows, want %d", page, len(rows), len(articleSections))
		}
		for _, s := range articleSections {
			cells := rows[s.number]
			if len(cells) != 5 || slices.Contains(cells, "") {
				t.Errorf("%s: section %s has the cells %q, want 5", page, s.number, cells)
				continue
			}
			if page == articlePages[0] && cells[0] != s.title {
				t.Errorf("%s: section %s is called %s, want %s", page, s.number, cells[0], s.title)
			}
			cell := cells[command]
			if len(makeTargets(cell))+len(paths(cell)) == 0 && !defect.MatchString(cell) {
				t.Errorf("%s: section %s names no command, no file and no row of make generations", page, s.number)
			}
		}
	}
}

func TestArticlesPagesHaveTheSameRows(t *testing.T) {
	t.Parallel()
	chinese, english := articleRows(t, articlePages[0]), articleRows(t, articlePages[1])
	for _, s := range articleSections {
		zh, en := facts(strings.Join(chinese[s.number], " | ")), facts(strings.Join(english[s.number], " | "))
		slices.Sort(zh)
		slices.Sort(en)
		if !slices.Equal(zh, en) {
			t.Errorf("section %s names %q in Chinese and %q in English", s.number, zh, en)
		}
	}
	if zh, en := javaCode(t, articlePages[0]), javaCode(t, articlePages[1]); len(zh) < 20 || !slices.Equal(zh, en) {
		t.Errorf("the tables for Java have the code %q in Chinese and %q in English", zh, en)
	}
}

// javaCode returns the code in the table for readers who come from Java.
func javaCode(tb testing.TB, page string) []string {
	tb.Helper()
	_, table, _ := strings.Cut(read(tb, page), "\n| Java |")
	return code(table)
}

var (
	han = `[\x{4e00}-\x{9fff}]`
	// Punctuation of half width beside a Chinese character, a space beside punctuation
	// of full width or between two characters, and what other pages call by another word.
	badChinese = regexp.MustCompile(han + `[,;:!?()]|[,;:!?(]` + han + `|` + han + ` [，。；：、）” ]|[，；：、（“] [^|]|` +
		han + ` ` + han + `|唯一键`)
)

func TestChinesePagesUseFullWidthPunctuation(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.zh-CN.md", articlePages[0]} {
		text := comment.ReplaceAllString(codeBlock.ReplaceAllString(read(t, page), ""), "")
		text = link.ReplaceAllString(codeSpan.ReplaceAllString(text, "x"), "]")
		for _, bad := range badChinese.FindAllString(text, -1) {
			t.Errorf("%s: %q", page, bad)
		}
	}
}

func TestArticlesNameEveryDefect(t *testing.T) {
	t.Parallel()
	source := read(t, "loadtest/experiments/generations/experiments.go")
	var defects []string
	for _, m := range regexp.MustCompile(`(?m)^\t\{"(.+?)", "`).FindAllStringSubmatch(source, -1) {
		defects = append(defects, m[1])
	}
	slices.Sort(defects)
	for _, page := range articlePages {
		var names []string
		for _, cells := range articleRows(t, page) {
			for _, m := range defect.FindAllStringSubmatch(cells[2], -1) {
				names = append(names, m[1])
			}
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 || !slices.Equal(names, defects) {
			t.Errorf("%s names %q, want %q", page, names, defects)
		}
	}
}
