package mysqllock

// EndWait lets tests end a wait that the server has just granted.
var EndWait = endWait
