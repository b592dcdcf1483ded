/** Names of the platform's own metrics that more than one place needs. */

/** How long answers take, in seconds. */
export const latencyMetrics = { http: 'http.latency', services: 'nats.service.latency' } as const

/** Of HTTP requests: by the first digit of their status. */
export const statusDigits = [2, 3, 4, 5] as const
export type StatusDigit = (typeof statusDigits)[number]
/** Such as `5xx`. */
export const statusClass = (digit: StatusDigit): string => `${digit}xx`
export const responsesMetric = 'http.responses'
/** Counts the answers with a status of that class. */
export const responsesOf = (digit: StatusDigit): string => `${responsesMetric}.${statusClass(digit)}`
