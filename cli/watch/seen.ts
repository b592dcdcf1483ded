/** A migration that is watched, as it was seen last, and what is said of it. */
export interface Seen {
  readonly id: string
  /** Nothing more is to be expected of it unless somebody asks for it. */
  readonly isOver: boolean
  /** It is completed, and all has arrived. */
  readonly isDone: boolean
  /** What is told at once where it changes, also in a log. */
  readonly said: string
  /** What the platform has answered. */
  readonly reply: object
  /** One line that fits in a terminal. */
  readonly line: (columns: number) => string
  /** What is in the way of it, a line for each. */
  readonly below: readonly string[]
  /** All of it in one line, for logs. */
  readonly plain: string
  /** How it ended, and what can be done next. */
  readonly end: string
}
