package demo

import "context"

// scene is a chapter of the story.
type scene struct {
	title string
	play  func(context.Context, *show) error
}

// story is what the demo tells.
var story = []scene{
	{"A first payment, its answer lost on the way, and the client's retries", retry},
	{"The same key with another amount", otherAmount},
	{"Two environments get the same request at once", race},
	{"The provider fails, and the client tries again", failure},
	{"The function is killed by its time-out in mid-run, after the charge", timeout},
	{"The limit: killed like that, with a provider that knows no idempotency keys", limit},
	{"A user registers, tries again, and tries again once the record has expired", registration},
	{"Somebody else registers the same address", taken},
	{"A queue's producer sends the same order twice", sendTwice},
	{"A message that is no order, among others", poison},
	{"The function is killed with a message in hand, after the shipment", killInHand},
	{"What was received too often", tooOften},
	{"A checkout whose card is declined, after the goods were reserved", declined},
	{"A checkout that is killed (SIGKILL) between the charge and the e-mail", killedBetween},
	{"The payroll of forty employees is killed (SIGKILL) half-way, and started again", payday},
	{"At night: a checkout was killed (SIGKILL), and its client does not come back", nightShift},
	{"At night: a payment was killed, and only the provider knows that it was made", settledByHand},
}

// wholeStory are the wishes, with how often each is done.
var wholeStory = []struct {
	wish
	times int
}{
	{firstOrder, 1}, {racedOrder, 1}, {failedOrder, 1}, {killedOrder, 1}, {chargedTwice, 2},
	{ada, 1},
	{firstParcel, 1}, {secondParcel, 1}, {thirdParcel, 1}, {killedParcel, 1},
	{declinedBasket, 0}, {killedBasket, 1},
	{lostBasket, 1}, {chargedOrder, 1},
	{november, staff},
}
