package shop

import (
	"database/sql"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.PostgresServer) }

// databases returns what a file says of an empty one of each kind, with its driver.
func databases(t *testing.T) map[string]database {
	t.Helper()
	postgres := labtest.Start(t, lab.StartPostgres)
	url, err := postgres.Create(t.Context(), "shop")
	check.NoError(t, err)
	file := filepath.Join(t.TempDir(), "shop.db")
	return map[string]database{
		"mysql: " + labtest.EmptyDatabase(t, labtest.MySQL(t)): {driver: "mysql"},
		"postgresql: " + url: {driver: "pgx"},
		"sqlite: " + file:    {driver: "sqlite", dsn: file},
	}
}

func TestSQLBeginsAndCountsInEachDatabase(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	t.Cleanup(server.Close)
	for setting, d := range databases(t) {
		if d.driver == "sqlite" {
			create(t, d, "CREATE TABLE empty (id INT)") // the file has to be there
		}
		s := parse(t, `
url: `+server.URL+`
claim: {url: /}
reply: {accepted: {status: [200]}, order: {pointer: /id}}
coupon: 7
begin: {sql: ["DELETE FROM orders", "UPDATE items SET stock = {{stock}} WHERE id = {{coupon}}"]}
totals:
  sql:
    stock: SELECT stock FROM items WHERE id = {{coupon}}
    orders: SELECT COUNT(*) FROM orders WHERE item = {{coupon}} AND {{coupon}} <> ''
    most_per_user: SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY buyer) AS counted
    order_ids: SELECT id FROM orders WHERE item = {{coupon}}
`+setting+"\n")
		create(t, s.database(), "CREATE TABLE items (id INT PRIMARY KEY, stock INT)",
			"CREATE TABLE orders (id BIGINT PRIMARY KEY, item INT, buyer INT)", "INSERT INTO items VALUES (7, 0), (8, 0)",
			"INSERT INTO orders VALUES (1, 7, 1)")
		sale, err := s.Open(t.Context())
		check.NoError(t, err)
		t.Cleanup(func() { _ = sale.Close() })
		check.NoError(t, sale.Restart(t.Context(), 42))
		create(t, s.database(), "INSERT INTO orders VALUES (12345678901234567, 7, 1), (3, 7, 1), (4, 8, 2)")
		got, err := sale.Count(t.Context())
		want := Counts{Stock: Count{42, true}, Orders: Count{2, true}, MostPerUser: Count{2, true}}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", d.driver, got, err, want)
		}
		told := []Told{{Order: "12345678901234567"}, {Order: "3"}, {Order: "4"}}
		if n, known, err := sale.Missing(t.Context(), told); n != 1 || !known || err != nil {
			t.Errorf("%s: %d missing, %v, %v, want 1", d.driver, n, known, err)
		}
	}
}

func create(t *testing.T, d database, statements ...string) {
	t.Helper()
	db, err := sql.Open(d.driver, d.dsn)
	check.NoError(t, err)
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %s: %v", d.driver, statement, err)
		}
	}
}
