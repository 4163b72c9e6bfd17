package migrations

// A table is what the service needs of a table.
type table struct {
	name    string
	columns map[string]string // their types, of which the database may have wider ones
	keys    map[string]string // the columns of the unique keys
	added   map[string]string // columns of later migrations
}

// tables is the schema that the migrations make, without what only makes it fast.
// A migration that adds a table, a column or a unique key adds it here.
var tables = []table{
	{"coupons", map[string]string{
		"id": "bigint", "name": "varchar(100)", "begin_time": "datetime(3)", "end_time": "datetime(3)",
		"initial_stock": "int", "stock": "int", "version": "bigint", "created_at": "datetime(3)",
	}, map[string]string{"PRIMARY": "id"}, nil},
	{"coupon_orders", map[string]string{
		"id": "bigint", "coupon_id": "bigint", "user_id": "bigint", "created_at": "datetime(3)",
	}, map[string]string{"PRIMARY": "id", "one_each": "coupon_id,user_id,number"}, map[string]string{
		"number": "tinyint unsigned", "expires_at": "datetime(3) null", "used_at": "datetime(3) null",
		"used_by": "bigint null", "used_ref": "varchar(64) null", "shard_key": "bigint null",
	}},
	{"locks", map[string]string{
		"name": "varchar(64)", "owner": "varchar(26)", "fence": "bigint unsigned", "expires_at": "datetime(6)",
	}, map[string]string{"PRIMARY": "name"}, nil},
	{"coupon_changes", map[string]string{
		"id": "bigint", "coupon_id": "bigint", "admin_id": "bigint", "action": "varchar(16)",
		"initial_stock_from": "int", "initial_stock_to": "int", "stock_from": "int", "stock_to": "int",
		"created_at": "datetime(3)",
	}, map[string]string{"PRIMARY": "id"}, nil},
	{"coupon_segments", map[string]string{
		"coupon_id": "bigint", "segment": "smallint", "stock": "int", "version": "bigint",
	}, map[string]string{"PRIMARY": "coupon_id,segment"}, map[string]string{"shard_key": "bigint null"}},
	{"coupon_updates", map[string]string{
		"change_id": "bigint", "name_from": "varchar(100)", "name_to": "varchar(100)",
		"begin_time_from": "datetime(3)", "begin_time_to": "datetime(3)",
		"end_time_from": "datetime(3)", "end_time_to": "datetime(3)",
	}, map[string]string{"PRIMARY": "change_id"}, nil},
	{"coupon_change_keys", map[string]string{
		"admin_id": "bigint", "key_hash": "varbinary(32)", "request": "varbinary(32)", "result": "blob",
		"created_at": "datetime(3)",
	}, map[string]string{"PRIMARY": "admin_id,key_hash"}, nil},
	{"coupon_rules", map[string]string{
		"coupon_id": "bigint", "per_user": "tinyint unsigned", "hold_seconds": "int unsigned", "returnable": "tinyint",
	}, map[string]string{"PRIMARY": "coupon_id"}, nil},
	{"coupon_orders_ended", map[string]string{
		"id": "bigint", "coupon_id": "bigint", "user_id": "bigint", "number": "tinyint unsigned",
		"created_at": "datetime(3)", "ended_at": "datetime(3)", "how": "varchar(16)", "ended_by": "bigint null",
	}, map[string]string{"PRIMARY": "id"}, map[string]string{"shard_key": "bigint null"}},
	{"coupon_holds", map[string]string{"expires_at": "datetime(3)", "order_id": "bigint"},
		map[string]string{"PRIMARY": "expires_at,order_id"}, map[string]string{"coupon_id": "bigint null"}},
	{"coupon_events", map[string]string{"id": "bigint", "created_at": "datetime(3)", "body": "mediumblob"},
		map[string]string{"PRIMARY": "id"}, map[string]string{"coupon_id": "bigint null"}},
	{"coupon_transfers", map[string]string{
		"coupon_id": "bigint", "segment": "smallint", "origin": "smallint", "target": "smallint", "units": "bigint",
	}, map[string]string{"PRIMARY": "coupon_id,segment,origin,target"}, map[string]string{"shard_key": "bigint null"}},
}
