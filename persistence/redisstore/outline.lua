-- Returns all fields of a record but those that may be large and are for its owner.
local all, outline = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
	if all[i] ~= 'result' and all[i] ~= 'event' then
		outline[#outline + 1], outline[#outline + 2] = all[i], all[i + 1]
	end
end
return outline
