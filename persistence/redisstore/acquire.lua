-- Puts a claim's record in the place of the one that was seen, and returns all fields
-- of the one that is there then: the claim's own, if nobody else was faster.
--
--   ARGV[1]     "replace" all of the record, or "take over": keep its steps
--   ARGV[2..6]  status, owner, lease_until, expire_at and fingerprint that were seen,
--               which is all that the decision depends on; empty where there are none
--   ARGV[7]     when the server may remove the record, in epoch milliseconds
--   ARGV[8..]   names and values of the new fields
local key = KEYS[1]
-- A node that may not write refuses this, so none of its answers comes from a primary that
-- is none any more. It changes nothing.
local function answer(verdict)
	redis.call('HDEL', key, '')
	return verdict
end
if ARGV[2] == '' then
	if redis.call('EXISTS', key) == 1 then
		return answer(redis.call('HGETALL', key))
	end
else
	local there = redis.call('HMGET', key, 'status', 'owner', 'lease_until', 'expire_at', 'fingerprint')
	for i = 1, 5 do
		if (there[i] or '') ~= ARGV[1 + i] then
			return answer(redis.call('HGETALL', key))
		end
	end
	if ARGV[1] == 'replace' then
		redis.call('DEL', key)
	end
end
redis.call('HSET', key, unpack(ARGV, 8))
redis.call('PEXPIREAT', key, ARGV[7])
return redis.call('HGETALL', key)
