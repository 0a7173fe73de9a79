-- Gives the record of an owner up, and keeps it where it has steps. Returns 1 if it is
-- given up, now or before, all fields if the owner has finished it, and 0 if it is not the
-- owner's any more.
--
--   ARGV[1]    the owner
local key = KEYS[1]
-- A node that may not write refuses this, so none of its answers comes from a primary that
-- is none any more. It changes nothing.
local function answer(verdict)
	redis.call('HDEL', key, '')
	return verdict
end
if redis.call('EXISTS', key) == 0 then
	return answer(1)
end
local there = redis.call('HMGET', key, 'owner', 'status')
if there[1] ~= ARGV[1] then
	return answer(0)
elseif there[2] == 'PARTIAL_SUCCESS' then
	return answer(1)
elseif there[2] ~= 'PROCESSING' then
	return answer(redis.call('HGETALL', key))
end
for _, name in ipairs(redis.call('HKEYS', key)) do
	if string.sub(name, 1, 5) == 'step:' then
		redis.call('HDEL', key, 'lease_until')
		redis.call('HSET', key, 'status', 'PARTIAL_SUCCESS')
		return 1
	end
end
redis.call('DEL', key)
return 1
