import { LocalWatch } from '../../../../../services/drivers/local/watch/local-watch.ts'
import { noPositions } from '../../../../support/feeds.ts'
import { WatchError } from '../../../../../services/drivers/feeds/feed.ts'

/** Watches a folder until that ends, and prints a line when it begins, and one with why it ended. */
const [root = ''] = process.argv.slice(2)
const { promise: ended, resolve } = Promise.withResolvers<unknown>()
const watch = new LocalWatch(Buffer.from(root))
try {
  const listener = { changed: () => undefined, ended: resolve, positions: noPositions }
  await watch.open(listener, new AbortController().signal)
  process.stdout.write('watching\n')
  throw await ended
} catch (error) {
  if (!(error instanceof WatchError)) throw error
  process.stdout.write(`${JSON.stringify({ isLimit: error.isLimit, message: error.message })}\n`)
}
await watch.close()
