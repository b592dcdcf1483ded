import { parentPort } from 'node:worker_threads'
import { EventCount } from './event-count.ts'
import { FolderWatch } from './folder-watch.ts'
import { WatchError } from '../../feeds/feed.ts'
import type { FromWatchThread, ToWatchThread } from './messages.ts'

/**
 * Entry point of the thread that watches, and does nothing else: events that nobody reads in time are lost. It tells of
 * dirty folders once what it told before is taken over; until then it collects.
 */

interface Watched {
  readonly watch: FolderWatch
  isTaken: boolean
}

const port = parentPort
if (port === null) throw new Error('this file is the entry point of a worker thread')

const watched = new Map<number, Watched>()
const events = new EventCount()

port.on('message', (message: ToWatchThread) => {
  switch (message.type) {
    case 'watch':
      void begin(message)
      break
    case 'taken':
      taken(message.id)
      break
    case 'rescan':
      watched.get(message.id)?.watch.rescan()
      break
    case 'close':
      watched.get(message.id)?.watch.close()
      watched.delete(message.id)
  }
})

const send = (message: FromWatchThread) => port.postMessage(message)

const sendEnd = (id: number, error: unknown) => {
  const isLimit = error instanceof WatchError && error.isLimit
  send({ type: 'end', id, message: error instanceof Error ? error.message : String(error), isLimit })
}

async function begin({ id, root, ...limits }: Extract<ToWatchThread, { type: 'watch' }>): Promise<void> {
  const watch = new FolderWatch({
    root: Buffer.from(root),
    ...limits,
    events,
    onDirty: () => tell(id),
    onEnd: (error) => {
      watched.delete(id)
      sendEnd(id, error)
    },
  })
  watched.set(id, { watch, isTaken: true })
  try {
    await watch.open()
    send({ type: 'open', id, watches: watch.watches })
  } catch (error) {
    if (watched.delete(id)) sendEnd(id, error)
  }
}

function tell(id: number): void {
  const one = watched.get(id)
  if (one === undefined || !one.isTaken || one.watch.dirty.size === 0) return
  one.isTaken = false
  send({ type: 'dirty', id, folders: one.watch.dirty.take() })
}

function taken(id: number): void {
  const one = watched.get(id)
  if (one === undefined) return
  one.isTaken = true
  tell(id)
}
