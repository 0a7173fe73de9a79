package sqlstore

import (
	"slices"
	"strings"
)

// statements are all that the store asks of its table. They are written once, with
// PostgreSQL's numbered parameters, and the parts in braces differ between the dialects
// or are used more than once.
//
// Each decides about one row and changes it in one step. Under READ COMMITTED as well
// as under SQLite's single writer, a statement that meets a row which somebody else is
// changing waits, and then looks at its condition again, on the row as it has become.
type statements struct {
	acquire, read, readMany            string
	complete, finish                   string
	remove, suspend, checkpoint, renew string
	finished, stepped, expire          string
	list, forget                       string
}

const (
	columns = `idempotency_key, status, owner, lease_until, expire_at, fingerprint, result, result IS NULL, CAST(steps AS text), attempt, {run of a row}`

	// expired is Record.Expired, and with "not the claim's own" it is the verdict Vacant.
	// Without an expiry it is NULL, which is never true.
	expired = `(r.expire_at < $7 AND (r.lease_until IS NULL OR r.lease_until < $6))`

	// stale is the verdict Stale of a row that is not expired, nor the claim's own. A
	// PROCESSING one without a lease is live until it expires: NULL again.
	stale = `((r.fingerprint = '' OR $5 = '' OR r.fingerprint = $5)
		AND ($9 = '' OR r.owner = $9) AND r.status = $8 AND (r.status = 'PARTIAL_SUCCESS' OR r.status = 'PROCESSING' AND (r.lease_until < $6
			OR $10 <> '' AND substr(r.owner, 1, length(CAST($10 AS text))) = $10)))`

	// insert makes a PROCESSING row of a claim: $1 key, $2 owner, $3 end of the lease,
	// $4 expiry, $5 fingerprint, $6 now in milliseconds, $7 now in seconds, $8 the one status
	// that a row is taken over from: so the row that was made tells what was found. $9 is the
	// one owner that it is taken over from, or empty, $10 how the owners of the claim's execution
	// begin, or empty, and those that follow are the run's. Where there is a row, Claim.Judge
	// is carried out.
	insert = `INSERT INTO {table} AS r (idempotency_key, status, owner, lease_until, expire_at, fingerprint, result, steps, attempt{run columns})
	VALUES ($1, 'PROCESSING', $2, $3, $4, $5, NULL, '{}', 1{run values})
	ON CONFLICT (idempotency_key) DO UPDATE SET
		status = excluded.status,
		owner = excluded.owner,
		lease_until = excluded.lease_until,
		expire_at = excluded.expire_at,
		fingerprint = CASE WHEN {expired} OR excluded.fingerprint <> '' THEN excluded.fingerprint ELSE r.fingerprint END,
		result = NULL,
		steps = CASE WHEN {expired} THEN excluded.steps ELSE r.steps END,
		attempt = CASE WHEN {expired} THEN 1 ELSE r.attempt + 1 END{run taken over}
	WHERE r.owner <> $2 AND ({expired} OR {stale})
	RETURNING `

	// tookOver is Record.TookOver of the row that insert has made.
	tookOver = `CASE WHEN attempt > 1 THEN CAST($8 AS text) ELSE '' END`

	// insertOrRead answers a duplicate in the same round trip: with the row as it was when
	// the statement began. It shows no row where that was not there yet.
	insertOrRead = `WITH acquired AS (` + insert + `r.*)
SELECT {columns}, {took over} FROM acquired
UNION ALL
SELECT {columns}, '' FROM {table} WHERE idempotency_key = $1 AND NOT EXISTS (SELECT 1 FROM acquired)`

	read = `SELECT {columns}, '' FROM {table} WHERE idempotency_key = $1`

	// readMany goes on with a list of keys.
	readMany = `SELECT {columns}, '' FROM {table} WHERE idempotency_key IN `

	// running is the row of an owner that may write to it.
	running = `idempotency_key = $1 AND owner = $2 AND status = 'PROCESSING'`

	complete = `UPDATE {table} SET status = $3, result = $4, expire_at = $5, lease_until = NULL{no event} WHERE {running}`

	// finish makes a finished row of a claim that was never acquired: the parameters are
	// those of insert, but for $3 status, $4 expiry of the outcome and $8 result; $9 and
	// $10 are of no use.
	finish = `INSERT INTO {table} AS r (idempotency_key, status, owner, lease_until, expire_at, fingerprint, result, steps, attempt{run columns})
	VALUES ($1, $3, $2, NULL, $4, $5, $8, '{}', 1{run values})
	ON CONFLICT (idempotency_key) DO UPDATE SET
		status = excluded.status,
		owner = excluded.owner,
		lease_until = NULL,
		expire_at = excluded.expire_at,
		fingerprint = excluded.fingerprint,
		result = excluded.result,
		steps = excluded.steps,
		attempt = 1{run replaced}
	WHERE r.owner <> $2 AND {expired} AND $9 = '' AND $10 = ''`

	remove  = `DELETE FROM {table} WHERE {running} AND steps = '{}'`
	suspend = `UPDATE {table} SET status = 'PARTIAL_SUCCESS', lease_until = NULL WHERE {running} AND steps <> '{}'`

	// checkpoint adds the step $6, which is the only member of the JSON object $5, and renews.
	checkpoint = `UPDATE {table} SET steps = {steps with $5}, {renewed} WHERE {running} AND {no step $6}`

	// finished and stepped count the row that complete or finish, or checkpoint, has changed.
	finished = `SELECT count(*) FROM {table} WHERE idempotency_key = $1 AND owner = $2 AND status = $3`
	stepped  = `SELECT count(*) FROM {table} WHERE {running} AND {step $3}`

	renew = `UPDATE {table} SET {renewed} WHERE {running}`

	// renewed is Lease.Renewed: $3 is where the lease ends then, $4 when the row expires. What
	// is NULL, here or there, changes nothing.
	renewed = `lease_until = CASE WHEN lease_until < $3 THEN $3 ELSE lease_until END,
	expire_at = CASE WHEN expire_at < $4 THEN $4 ELSE expire_at END`

	// expire removes $3 rows at most that have expired by the second $1, which is the
	// millisecond $2.
	expire = `WITH gone AS (
	SELECT idempotency_key FROM {table}
	WHERE expire_at < $1 AND (lease_until IS NULL OR lease_until < $2)
	ORDER BY expire_at LIMIT $3{skipping locked rows}
)
DELETE FROM {table} WHERE idempotency_key IN (SELECT idempotency_key FROM gone)`

	// list shows the rows after the key $1, up to the key $2 if there is one, in the order of
	// keys, $3 at most, with a status in the JSON text $4 unless that is empty. What may be large
	// is left out.
	list = `SELECT idempotency_key, status, owner, lease_until, expire_at, fingerprint, NULL, result IS NULL, CAST(steps AS text), attempt, {run of an outline}, ''
	FROM {table} WHERE idempotency_key > $1 AND ($2 = '' OR idempotency_key < $2) AND ($4 = '' OR $4 LIKE '%"' || status || '"%')
	ORDER BY idempotency_key LIMIT $3`

	// forget removes a row that is as it was seen; its lease is 0 where there is none.
	forget = `DELETE FROM {table} WHERE idempotency_key = $1 AND owner = $2 AND status = $3 AND coalesce(lease_until, 0) = $4`
)

// phrases are the replacements in which the dialects differ.
var phrases = map[Dialect][]string{
	PostgreSQL: {
		"{steps with $5}", "steps || CAST(CAST($5 AS text) AS jsonb)",
		"{no step $6}", "steps -> CAST($6 AS text) IS NULL",
		"{step $3}", "steps -> CAST($3 AS text) IS NOT NULL",
		"{skipping locked rows}", " FOR UPDATE SKIP LOCKED",
	},
	SQLite: {
		"{steps with $5}", "json_patch(steps, $5)",
		"{no step $6}", "NOT EXISTS (SELECT 1 FROM json_each(steps) WHERE key = $6)",
		"{step $3}", "EXISTS (SELECT 1 FROM json_each(steps) WHERE key = $3)",
		"{skipping locked rows}", "",
	},
}

// runPhrases are the parts about a row's run, of which the first schema has none.
var runPhrases = map[int][]string{
	1: {
		"{run of a row}", noRun, "{run of an outline}", noRun,
		"{run columns}", "", "{run values}", "", "{run taken over}", "", "{run replaced}", "", "{no event}", "",
	},
	2: {
		"{run of a row}", "started_at, function, request_id, event",
		"{run of an outline}", "started_at, function, request_id, NULL",
		"{run columns}", ", started_at, function, request_id, event",
		"{run values}", ", $11, $12, $13, $14",
		"{run taken over}", `,
		started_at = CASE WHEN {expired} OR {said} THEN excluded.started_at ELSE r.started_at END,
		function = CASE WHEN {expired} OR {said} THEN excluded.function ELSE r.function END,
		request_id = CASE WHEN {expired} OR {said} THEN excluded.request_id ELSE r.request_id END,
		event = CASE WHEN {expired} OR excluded.event IS NOT NULL THEN excluded.event ELSE r.event END`,
		"{run replaced}", `,
		started_at = excluded.started_at, function = excluded.function, request_id = excluded.request_id, event = NULL`,
		"{no event}", ", event = NULL",
	},
}

// noRun are the columns of a run in a table that has none.
var noRun = strings.Join(slices.Repeat([]string{"NULL"}, 4), ", ")

// said tells whether a claim says anything of its run.
const said = `(excluded.started_at IS NOT NULL OR excluded.function IS NOT NULL OR excluded.request_id IS NOT NULL)`

// newStatements returns the statements for a table with a version of the schema.
func newStatements(c Config, version int) statements {
	of := strings.NewReplacer(runPhrases[version]...)
	phrase := strings.NewReplacer(append(append(c.names(), phrases[c.Dialect]...),
		"{columns}", of.Replace(columns), "{took over}", tookOver, "{expired}", expired, "{stale}", stale, "{said}", said, "{running}", running, "{renewed}", renewed)...)
	write := func(s string) string { return phrase.Replace(of.Replace(s)) }
	acquire := insertOrRead
	if c.Dialect == SQLite {
		write = func(s string) string { return strings.ReplaceAll(phrase.Replace(of.Replace(s)), "$", "?") }
		acquire = insert + "{columns}, {took over}" // an INSERT can't be a part of another statement
	}
	return statements{
		acquire: write(acquire), read: write(read), readMany: write(readMany),
		complete: write(complete), finish: write(finish),
		remove: write(remove), suspend: write(suspend), checkpoint: write(checkpoint), renew: write(renew),
		finished: write(finished), stepped: write(stepped), expire: write(expire),
		list: write(list), forget: write(forget),
	}
}
