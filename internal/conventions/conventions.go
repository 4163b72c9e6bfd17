// Package conventions holds no code: its tests keep the rules of this
// repository that a compiler does not know.
package conventions
