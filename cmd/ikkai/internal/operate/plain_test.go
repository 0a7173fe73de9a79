package operate

import "testing"

// What is printed is shown and not acted upon, and a command that is printed is what was typed.
func TestTextsOfOthersArePlain(t *testing.T) {
	for _, c := range []struct{ text, plain, quoted string }{
		{"payment#1", "payment#1", `'payment#1'`},
		{"注文　#é", "注文　#é", `'注文　#é'`},
		{"it's $HOME", "it's $HOME", `'it'\''s $HOME'`},
		{"a\x1b[2J\n'\\", `a\x1b[2J\n'\`, `$'a\x1b\x5b2J\x0a\x27\x5c'`},
		{"\u202ea\u009b", `\u202ea\u009b`, `$'\xe2\x80\xaea\xc2\x9b'`},
		{"\xff", `\xff`, `$'\xff'`},
		{"", "", `''`},
	} {
		if got := plain(c.text); got != c.plain {
			t.Errorf("%q is shown as %s, want %s", c.text, got, c.plain)
		}
		if got := Quote([]string{c.text}); got != c.quoted {
			t.Errorf("%q is quoted as %s, want %s", c.text, got, c.quoted)
		}
	}
}
