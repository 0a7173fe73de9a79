package eventguard

import "context"

// inOrder runs the records of a shard until one fails. What is behind it gets no
// verdict: the source goes back to the failure and delivers all from there.
func (p processor) inOrder(ctx context.Context, total int, at func(int) record) verdicts {
	w := p.config.window(ctx)
	v := verdicts{total: total}
	for i := range total {
		r := at(i)
		err := p.attempt(ctx, w, r)
		v.records, v.errs = append(v.records, r), append(v.errs, err)
		if err != nil {
			break
		}
	}
	return v
}
