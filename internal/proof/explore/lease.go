package explore

import "time"

// leases are what a process knows of its lease.
type leases struct {
	until time.Time // the end that was confirmed last; zero where there is none
	again time.Time // when a renewal that has failed is tried again
}

// holds notes that a process's lease ends no earlier than that.
func (p *Process) holds(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.leases.until) {
		p.leases = leases{until: until}
	}
}

// failsToRenew notes that a renewal has failed.
func (p *Process) failsToRenew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases.again = p.world.now().Truncate(time.Second).Add(time.Second)
}

// renewsAgain is when a renewal that has failed is tried again; zero where none has.
func (p *Process) renewsAgain() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases.again
}

// instants are when a process renews its lease, and when its function has to be over
// unless that succeeds.
func (p *Process) instants() []time.Time {
	lease := p.world.system.Lease
	if lease == 0 || p.leases.until.IsZero() {
		return nil
	}
	return []time.Time{p.leases.until.Add(-lease / 2), p.leases.again, p.leases.until.Add(-Allowance)}
}
