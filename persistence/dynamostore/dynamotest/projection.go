package dynamotest

import (
	"maps"
	"slices"
)

// projection is a parsed ProjectionExpression; nil selects everything.
type projection []path

func (p *parser) projection() projection {
	paths := projection{p.path()}
	for p.accept(",") {
		paths = append(paths, p.path())
	}
	p.mustNotClash(paths)
	return paths
}

// of is the part of the item that the projection selects.
func (p projection) of(i item) item {
	if p == nil || i == nil {
		return i
	}
	selected, _ := selection(p, document(i))
	if selected.fields == nil {
		return item{}
	}
	return selected.fields
}

// selection is the part of v that the paths, relative to v, select. Lists close the gaps between selected elements.
func selection(paths []path, v value) (value, bool) {
	inner := make(map[step][]path)
	for _, p := range paths {
		if len(p) == 0 {
			return v, true
		}
		inner[p[0]] = append(inner[p[0]], p[1:])
	}
	selected := value{kind: v.kind}
	for _, s := range slices.SortedFunc(maps.Keys(inner), func(a, b step) int { return path{a}.compare(path{b}) }) {
		child, exists := s.from(v)
		if !exists {
			continue
		}
		part, found := selection(inner[s], child)
		switch {
		case !found:
		case s.isIndex():
			selected.list = append(selected.list, part)
		default:
			if selected.fields == nil {
				selected.fields = make(map[string]value)
			}
			selected.fields[s.name] = part
		}
	}
	return selected, selected.list != nil || selected.fields != nil
}
