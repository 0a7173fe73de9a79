package main

// room is a box of the house: packages that a reader takes for one.
type room struct {
	name    string
	folders []string
	lines   []string
	class   string
	x, y, w int
}

const roomHeight = 66

// rooms are those of docs/architecture.md.
var rooms = []room{
	{name: "apps", folders: []string{"functions", "cmd/ikkai", "deploy/function"}, lines: []string{"your functions", "functions/, deploy/, cmd/ikkai"}, class: "box", x: 175, y: 20, w: 250},
	{name: "doors", folders: []string{"idempotent/httpguard", "idempotent/eventguard", "idempotent/powertools"}, lines: []string{"doors", "httpguard, eventguard,", "powertools"}, class: "door", x: 20, y: 130, w: 180},
	{name: "steps", folders: []string{"idempotent/saga", "idempotent/batch"}, lines: []string{"steps, batches", "saga, batch"}, class: "door", x: 210, y: 130, w: 180},
	{name: "watching", folders: []string{"idempotent/emf", "idempotent/otelguard"}, lines: []string{"metrics, traces", "emf, otelguard"}, class: "door", x: 400, y: 130, w: 180},
	{name: "engine", folders: []string{"idempotent"}, lines: []string{"idempotent", "the guard and its engine"}, class: "good", x: 175, y: 240, w: 250},
	{name: "keys", folders: []string{"."}, lines: []string{"idempotency", "keys and fingerprints"}, class: "good", x: 20, y: 350, w: 250},
	{name: "contract", folders: []string{"persistence"}, lines: []string{"persistence", "the contract of stores"}, class: "good", x: 330, y: 350, w: 250},
	{name: "storekit", folders: []string{"persistence/storekit"}, lines: []string{"storekit", "what stores are made of"}, class: "box", x: 400, y: 460, w: 180},
	{name: "records", folders: []string{"persistence/records"}, lines: []string{"records", "the operator's view"}, class: "box", x: 210, y: 460, w: 180},
	{name: "stores", folders: []string{"persistence/dynamostore", "persistence/redisstore", "persistence/sqlstore", "persistence/sealed", "persistence/overflow"}, lines: []string{"stores and fronts", "dynamostore, redisstore, sqlstore; sealed, overflow"}, class: "box", x: 210, y: 570, w: 370},
}

// arrows say which room imports which, directly.
var arrows = [][2]string{
	{"apps", "doors"}, {"apps", "steps"}, {"doors", "engine"}, {"steps", "engine"}, {"watching", "engine"},
	{"engine", "keys"}, {"engine", "contract"}, {"records", "contract"}, {"storekit", "contract"}, {"stores", "storekit"}, aside,
}

// aside is the one that goes around another room.
var aside = [2]string{"engine", "storekit"}

// house is what imports what.
func house() *picture {
	p := &picture{
		name: "house", title: "The packages, and what imports what", width: width, height: 656,
		description: "Your functions import doors (httpguard, eventguard, powertools) and steps (saga, batch). These, and metrics and traces (emf, otelguard), import idempotent, the guard and its engine. " +
			"The engine imports idempotency, which makes keys, persistence, the contract of stores, and storekit, which knows what some stores can do besides. Stores and fronts import storekit, which imports persistence, as do records, the operator's view. " +
			"No arrow goes back, and the engine knows no store.",
	}
	at := make(map[string]room)
	for _, r := range rooms {
		at[r.name] = r
	}
	for _, a := range arrows {
		if a == aside {
			continue
		}
		from, to := at[a[0]], at[a[1]]
		// From the middle of one to the nearest place of the other.
		x := from.x + from.w/2
		end := min(max(x, to.x+20), to.x+to.w-20)
		if from.w > to.w && end != x && from.x <= to.x {
			x = min(max(to.x+to.w/2, from.x+20), from.x+from.w-20)
			end = min(max(x, to.x+20), to.x+to.w-20)
		}
		if from.y < to.y {
			p.arrow(x, from.y+roomHeight, end, to.y)
		} else {
			p.arrow(x, from.y, end, to.y+roomHeight)
		}
	}
	from, to := at[aside[0]], at[aside[1]]
	around := to.x + to.w + 12
	p.arrow(from.x+from.w, from.y+roomHeight/2, around, from.y+roomHeight/2, around, to.y+roomHeight/2, to.x+to.w, to.y+roomHeight/2)
	for _, r := range rooms {
		p.box(r.x, r.y, r.w, roomHeight, r.class, r.lines...)
	}
	for i, line := range []string{"Arrows: what a package", "imports. None goes back.", "The engine knows no", "store: only the main of a", "function names one."} {
		p.write(20, 484+i*18, "soft small", "start", line)
	}
	return p
}
