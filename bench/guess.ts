/** Sends wrong tokens of a real key at an even rate until its input ends. Arguments: address of the platform, a token. */
import { setTimeout as delay } from 'node:timers/promises'
import { formatToken, parseToken } from '../broker/token.ts'

export const guessesPerSecond = 1_000
const tickMs = 10

async function guess(url: string, token: string, signal: AbortSignal): Promise<void> {
  const { location, keyId } = parseToken(token)!
  for (let sent = 0, began = performance.now(); !signal.aborted; await delay(tickMs)) {
    for (; sent < ((performance.now() - began) / 1_000) * guessesPerSecond; sent++) {
      const authorization = `Bearer ${formatToken(location, keyId, `guess${sent}`)}`
      void fetch(`${url}/api/v1/apikey`, { headers: { authorization } }).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      )
    }
  }
}

if (import.meta.main) {
  const [url = '', token = ''] = process.argv.slice(2)
  const end = new AbortController()
  process.stdin.once('end', () => end.abort()).resume()
  process.stdout.write('guessing\n')
  await guess(url, token, end.signal)
  process.exit(0)
}
