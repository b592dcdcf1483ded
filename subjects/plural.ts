/** `1 path`, `2 paths`. @param noun of which the plural ends with an s */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
