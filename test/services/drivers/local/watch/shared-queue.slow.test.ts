import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'vitest'
import { EventCount } from '../../../../../services/drivers/local/watch/event-count.ts'
import { watchFolder } from '../../../../support/watched-folder.ts'

/** What the system keeps for a reader; one for making a file, one for writing to it. */
const maxQueuedEvents = () => Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
const eventsPerFile = 2

test('watches of one thread share a kernel queue: when they fill it together, each of them compares everything', async () => {
  const events = new EventCount()
  using one = await watchFolder({ events })
  using two = await watchFolder({ events })
  using three = await watchFolder({ events })
  // Each of them alone stays below half of the queue, and the three overflow it.
  const count = Math.ceil((0.42 * maxQueuedEvents()) / eventsPerFile)
  for (const { at } of [one, two, three]) for (let i = 0; i < count; i++) writeFileSync(at(`there/${i}`), 'x')
  await Promise.all([one, two, three].map(({ untilTold }) => untilTold(':tree')))
})
