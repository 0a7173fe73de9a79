// Package canonicaljson writes JSON values in canonical form v1: one text for
// one value, whatever spelling it arrived in. Record keys and fingerprints are
// digests of that text, so it must never change under the same version: a
// changed text turns the retry of every open request into a new request.
//
// # Canonical form v1
//
//   - null, true and false are written as such.
//   - No white space outside strings.
//   - Array elements keep their order.
//   - Object members are sorted by the Unicode code points of their names, which
//     is the byte order of their UTF-8 text. A repeated name is an error: two
//     readers of the payload could disagree on its value. So are two names that
//     differ only in case, of which encoding/json takes the last: sorted, nobody sees
//     which that was.
//   - Strings are UTF-8 with the shortest escapes: \" and \\, \b \t \n \f \r,
//     \u00xx in lower case for the other characters below U+0020, and every other
//     character as itself. No Unicode normalization takes place. A lone surrogate
//     or invalid UTF-8 is an error, never a replacement character.
//   - Numbers are written in their exact decimal normal form: all significant
//     digits and no others, laid out as ECMAScript's Number::toString lays out the
//     digits of a double. With s the significant digits (k of them) and the value
//     0.s times ten to the n: plain digits for 0 < n ≤ 21, "0." and up to five
//     zeros for -6 < n ≤ 0, else d.ddde+X or d.ddde-X. Zero is 0 and has no sign.
//     So 100, 100.0 and 1e2 are 100; 9007199254740993 stays 9007199254740993. A
//     decimal exponent (n-1) beyond ±9999 is an error.
//   - Nesting deeper than 10000 levels is an error.
//
// The form is injective: distinct values have distinct texts. For doubles in the
// common range it agrees with RFC 8785 except that members are sorted by code
// point, not by UTF-16 unit.
package canonicaljson
