/** A platform as its own process, for benches. Prints its addresses and token as JSON; ends with its parent. */
import { startTestPlatform } from '../test/support/platform.ts'

const platform = await startTestPlatform()
process.stdin.once('end', () => void platform[Symbol.asyncDispose]().then(() => process.exit(0))).resume()
const { home, httpUrls, tcpUrl, websocketUrl, operatorToken } = platform
process.stdout.write(`${JSON.stringify({ home, httpUrls, tcpUrl, websocketUrl, operatorToken })}\n`)
