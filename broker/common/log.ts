/** The part of a pino logger that Gantry uses; messages are whole sentences, details go into the object. */
export interface Log {
  /** From which on lines are written; may be changed at any time. */
  level: string
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}
