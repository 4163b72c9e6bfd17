package coupon_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

var (
	begin = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	end   = begin.Add(time.Hour)
)

func mustNew(t *testing.T, id int64, stock int) coupon.Coupon {
	t.Helper()
	c, err := coupon.New(id, "Singles' Day, ¥100 off 满减", begin, end, stock, begin.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustCreate(t *testing.T, s *coupon.Store, id int64, stock int) coupon.Coupon {
	t.Helper()
	c := mustNew(t, id, stock)
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewNamesTheWrongField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("券", coupon.MaxName+1)
	for field, make := range map[string]func() (coupon.Coupon, error){
		"name":       func() (coupon.Coupon, error) { return coupon.New(1, " ", begin, end, 1, begin) },
		"name ":      func() (coupon.Coupon, error) { return coupon.New(1, long, begin, end, 1, begin) },
		"begin_time": func() (coupon.Coupon, error) { return coupon.New(1, "a", time.Time{}, end, 1, begin) },
		"end_time":   func() (coupon.Coupon, error) { return coupon.New(1, "a", begin, begin, 1, begin) },
		"end_time ":  func() (coupon.Coupon, error) { return coupon.New(1, "a", begin, begin.AddDate(9000, 0, 0), 1, begin) },
		"stock":      func() (coupon.Coupon, error) { return coupon.New(1, "a", begin, end, -1, begin) },
		"stock ":     func() (coupon.Coupon, error) { return coupon.New(1, "a", begin, end, coupon.MaxStock+1, begin) },
	} {
		_, err := make()
		invalid, ok := errors.AsType[*coupon.InvalidError](err)
		if !ok || invalid.Field != strings.TrimSpace(field) || !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestOpenFollowsWindowThenStock(t *testing.T) {
	t.Parallel()
	c := mustNew(t, 1, 1)
	gone := c
	gone.Stock = 0
	for _, step := range []struct {
		name   string
		coupon coupon.Coupon
		at     time.Time
		want   error
	}{
		{"a moment before", c, begin.Add(-time.Millisecond), coupon.ErrNotStarted},
		{"at the start", c, begin, nil},
		{"at the end", c, end, nil},
		{"a moment after", c, end.Add(time.Millisecond), coupon.ErrEnded},
		{"sold out", gone, begin, coupon.ErrSoldOut},
		{"sold out, not begun", gone, begin.Add(-time.Second), coupon.ErrNotStarted},
		{"sold out, over", gone, end.Add(time.Second), coupon.ErrEnded},
	} {
		if err := step.coupon.Open(step.at); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
	}
	early, ok := errors.AsType[*coupon.NotStartedError](c.Open(begin.Add(-time.Hour)))
	if !ok || !early.BeginTime.Equal(begin) {
		t.Errorf("not started without its time: %v", early)
	}
}

func TestStoreGivesBackWhatItGot(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	c := mustCreate(t, s, 1<<60, 7)
	got, err := s.Find(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Find(t.Context(), 2); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	if err := s.Create(t.Context(), c); err == nil {
		t.Error("the same id was created twice")
	}
}

func TestListPagesFromTheNewest(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	for id := range int64(5) {
		mustCreate(t, s, id+1, 1)
	}
	var got []int64
	for before := int64(0); ; {
		page, err := s.List(t.Context(), before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.ID)
		}
		before = got[len(got)-1]
	}
	if diff := cmp.Diff([]int64{5, 4, 3, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRestockRaisesBothCounts(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	mustCreate(t, s, 1, 3)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := s.Restock(t.Context(), 1, 2); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := s.Find(t.Context(), 1)
	if err != nil || c.Stock != 23 || c.InitialStock != 23 {
		t.Errorf("after 3 + 10 × 2: %+v, %v", c, err)
	}
	if _, err := s.Restock(t.Context(), 2, 1); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	for _, add := range []int{0, -1, coupon.MaxStock + 1, coupon.MaxStock} {
		if _, err := s.Restock(t.Context(), 1, add); !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("add %d: %v", add, err)
		}
	}
}

func TestCacheReadsOnceForACrowd(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustCreate(t, s, 1, 5)
	cache := coupon.NewCache(s, time.Hour)
	before := reads(t, db)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if c, err := cache.Find(t.Context(), 1); err != nil || c.Stock != 5 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	wg.Wait()
	if n := reads(t, db) - before; n != 1 {
		t.Errorf("%d reads of the table, want 1", n)
	}
}

func TestSoldOutIsNeverSticky(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	mustCreate(t, s, 1, 5)
	stock := func(c *coupon.Cache) int {
		got, err := c.Find(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return got.Stock
	}

	forgetful := coupon.NewCache(s, 10*time.Millisecond)
	stock(forgetful)
	forgetful.SoldOut(1)
	for deadline := time.Now().Add(5 * time.Second); stock(forgetful) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the mark outlived its ttl")
		}
	}

	cache := coupon.NewCache(s, time.Hour)
	stock(cache)
	cache.SoldOut(1)
	if got := stock(cache); got != 0 {
		t.Errorf("stock %d after SoldOut, want 0", got)
	}
	cache.Forget(1)
	if got := stock(cache); got != 5 {
		t.Errorf("stock %d after Forget, want 5", got)
	}
}

func TestCacheKeepsNoError(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	cache := coupon.NewCache(s, time.Hour)
	if _, err := cache.Find(t.Context(), 1); !errors.Is(err, coupon.ErrNotFound) {
		t.Fatalf("unknown coupon: %v", err)
	}
	mustCreate(t, s, 1, 5)
	if _, err := cache.Find(t.Context(), 1); err != nil {
		t.Errorf("a coupon created since: %v", err)
	}
}
