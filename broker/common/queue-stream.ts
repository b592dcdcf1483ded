/** Name of the stream of a queue. */
export const queueStream = (queue: string): string => `WORK_${queue}`
