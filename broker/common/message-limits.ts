/** The largest input, on every way in: a key with 400 rules is 100 kB; files never come this way. */
export const maxRequestBytes = 2 ** 20
/** Long enough for a page of 1,000 records of some kB; the server's own advice is to stay at or below 8 MB. */
export const maxPayloadBytes = 8 * 2 ** 20
