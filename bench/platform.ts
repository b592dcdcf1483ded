/**
 * A platform as its own process, for benches; with the argument `ui` it serves the web interface. Prints its addresses, token
 * and passwords as JSON; ends with its parent.
 */
import { startTestPlatform } from '../test/support/platform.ts'
import { buildUi } from '../ui/build/build.ts'

const platform = await startTestPlatform(
  process.argv.includes('ui') ? { uiFolder: await buildUi(() => undefined) } : {},
)
process.stdin.once('end', () => void platform[Symbol.asyncDispose]().then(() => process.exit(0))).resume()
const { home, httpUrls, tcpUrl, websocketUrl, operatorToken, developmentPasswords } = platform
process.stdout.write(
  `${JSON.stringify({ home, httpUrls, tcpUrl, websocketUrl, operatorToken, developmentPasswords })}\n`,
)
