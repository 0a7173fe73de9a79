-- Removes a record that is as it was seen. Returns 1 if it is gone, now or before, and 0 if it
-- is another one by now.
--
--   ARGV[1..3]  owner, status and lease_until that were seen; empty where there are none
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
local there = redis.call('HMGET', key, 'owner', 'status', 'lease_until')
for i = 1, 3 do
	if (there[i] or '') ~= ARGV[i] then
		return answer(0)
	end
end
redis.call('DEL', key)
return 1
