-- Adds a step to the record of an owner; one that is there stays. Returns 1 if it is
-- there, and 0 if the record is not the owner's any more.
--
--   ARGV[1]    the owner
--   ARGV[2]    name of the step's field
--   ARGV[3]    output of the step
local key = KEYS[1]
local there = redis.call('HMGET', key, 'owner', 'status')
if there[1] ~= ARGV[1] or there[2] ~= 'PROCESSING' then
	return 0
end
redis.call('HSETNX', key, ARGV[2], ARGV[3])
return 1
