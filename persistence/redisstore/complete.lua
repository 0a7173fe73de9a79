-- Finishes the record of an owner. Returns 1 if it does, all fields if the owner has finished
-- it before, and 0 if it is not the owner's any more.
--
--   ARGV[1]    the owner
--   ARGV[2]    when the server may remove the record, in epoch milliseconds; empty for never
--   ARGV[3..]  names and values of the fields that change
local key = KEYS[1]
-- A node that may not write refuses this, so none of its answers comes from a primary that
-- is none any more. It changes nothing.
local function answer(verdict)
	redis.call('HDEL', key, '')
	return verdict
end
local there = redis.call('HMGET', key, 'owner', 'status')
if there[1] ~= ARGV[1] then
	return answer(0)
elseif there[2] == 'COMPLETED' or there[2] == 'FAILED' then
	return answer(redis.call('HGETALL', key))
elseif there[2] ~= 'PROCESSING' then
	return answer(0)
end
redis.call('HDEL', key, 'lease_until', 'expire_at', 'result', 'result_encoding', 'event')
redis.call('HSET', key, unpack(ARGV, 3))
if ARGV[2] == '' then
	redis.call('PERSIST', key)
else
	redis.call('PEXPIREAT', key, ARGV[2])
end
return 1
