-- Adds a step to the record of an owner, where one is given; one that is there stays.
-- Renews the lease, where that is asked for; nothing is ever moved back. Returns 1 if all
-- is done, all fields if the step is there with another output or the owner has finished the
-- record, and 0 if it is not the owner's any more.
--
--   ARGV[1]     the owner
--   ARGV[2..4]  until when the lease is to last in epoch milliseconds, when the record may
--               expire then in epoch seconds, and when the server may remove it in epoch
--               milliseconds; empty for no renewal
--   ARGV[5..6]  name of the step's field, and the output of the step
local key = KEYS[1]
-- A node that may not write refuses this, so none of its answers comes from a primary that
-- is none any more. It changes nothing.
local function answer(verdict)
	redis.call('HDEL', key, '')
	return verdict
end
local there = redis.call('HMGET', key, 'owner', 'status', 'lease_until', 'expire_at')
if there[1] ~= ARGV[1] then
	return answer(0)
elseif there[2] == 'COMPLETED' or there[2] == 'FAILED' then
	return answer(redis.call('HGETALL', key))
elseif there[2] ~= 'PROCESSING' then
	return answer(0)
end
if ARGV[5] and redis.call('HSETNX', key, ARGV[5], ARGV[6]) == 0 and redis.call('HMGET', key, ARGV[5])[1] ~= ARGV[6] then
	return redis.call('HGETALL', key)
end
if ARGV[2] ~= '' then
	if there[3] and tonumber(there[3]) < tonumber(ARGV[2]) then
		redis.call('HSET', key, 'lease_until', ARGV[2])
	end
	if there[4] and tonumber(there[4]) < tonumber(ARGV[3]) then
		redis.call('HSET', key, 'expire_at', ARGV[3])
		redis.call('PEXPIREAT', key, ARGV[4])
	end
end
return answer(1)
