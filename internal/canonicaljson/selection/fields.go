package selection

// fields are the members that an expression reads of an object of which it reads
// nothing else: in most cases one. They take a quarter of what a map would.
type fields []field

type field struct {
	name  string
	value any
}

// few is for how many members there is room at first.
const few = 4

// of returns the value of the member with that name, nil if there is none.
func (f fields) of(name string) any {
	for i := range f {
		if f[i].name == name {
			return f[i].value
		}
	}
	return nil
}

func (f fields) has(name string) bool {
	for i := range f {
		if f[i].name == name {
			return true
		}
	}
	return false
}

// member returns the value of a member of what was read, nil if there is none.
func member(value any, name string) any {
	switch object := value.(type) {
	case fields:
		return object.of(name)
	case map[string]any:
		return object[name]
	}
	return nil
}
