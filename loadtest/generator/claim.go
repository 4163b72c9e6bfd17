package generator

// AppendClaim appends a claim of the coupon to b. headers are those of the user,
// each with its end of line.
func AppendClaim(b []byte, host, coupon string, headers []byte) []byte {
	b = append(append(append(b, "POST /coupons/"...), coupon...), "/orders HTTP/1.1\r\nHost: "...)
	b = append(append(append(b, host...), "\r\n"...), headers...)
	return append(b, "Content-Length: 0\r\n\r\n"...)
}
