/** A text for people within a limit: a longer one ends with an ellipsis, so that nobody takes it for the whole. */
export const shortened = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`
