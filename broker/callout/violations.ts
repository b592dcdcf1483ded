import { type AddressMarks, originOfConnection } from '../messages/client-address.ts'
import type { Log } from '../common/log.ts'
import { LogTail } from '../server/log-tail.ts'
import { hidesToken } from '../identity/token.ts'

/** Something that nats-server did not let a key do. */
export interface Violation {
  readonly keyId: string
  readonly action: 'publish' | 'subscribe'
  /** As the client wrote it; undefined when there is a token in it. */
  readonly subject: string | undefined
  /** Address of the client. */
  readonly from: string | undefined
}

// The server tells nobody of these but its log (2.15 has no advisory):
// [1] 2026/01/31 12:00:00.000000 [ERR] 127.0.0.1:50150 - cid:63 - "v3.4.0:nats.js:name" - "A…/GANTRY/user:k…" - Publish
// Violation - Subject "gantry.…". Clients choose what is quoted in it, and quotes of theirs are escaped; the part with
// the user comes last, so that no name can be taken for it.
const quoted = String.raw`"(?:[^"\\]|\\.)*"`
const pattern = new RegExp(
  String.raw`^\[\d+\] \S+ \S+ \[ERR\] (\S+):\d+ - \w+:\d+ - (?:(${quoted}) - )?"A[A-Z2-7]{55}/[^"/]*/user:(k[0-9a-z]+)"` +
    String.raw` - (Publish|Subscription) Violation - Subject (${quoted})`,
)

/**
 * The violation that a line of nats-server's log tells of. undefined for other lines, for users that are no keys, and for
 * connections of the edge, which knows better who asked for what.
 */
export function violationOf(line: string, marks: AddressMarks): Violation | undefined {
  const [, host, client, keyId, operation, subject] = pattern.exec(line) ?? []
  if (host === undefined || keyId === undefined || subject === undefined) return undefined
  // Version, language and name, as clients tell them.
  const name = unquoted(client ?? '')
    .split(':')
    .slice(2)
    .join(':')
  const { address, isEdge } = originOfConnection(marks, {
    name,
    host: host.replace(/^\[(.*)\]$/, '$1'),
    keyId,
  })
  if (isEdge) return undefined
  const text = unquoted(subject)
  return {
    keyId,
    action: operation === 'Publish' ? 'publish' : 'subscribe',
    subject: hidesToken(text) ? undefined : text,
    from: address,
  }
}

/** The text in Go's quotes, which are those of JSON for all that is usual. */
function unquoted(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch {
    return text.slice(1, -1)
  }
}

/** Tells of what nats-server does not let keys do from now on, until `stop`. */
export async function watchViolations(
  logFile: string,
  { marks, onViolation, log }: { marks: AddressMarks; onViolation: (violation: Violation) => void; log: Log },
): Promise<{ stop(): Promise<void> }> {
  const onLine = (line: string) => {
    // Nearly all lines are others.
    if (!line.includes(' Violation - Subject ')) return
    const violation = violationOf(line, marks)
    if (violation !== undefined) onViolation(violation)
  }
  return LogTail.open(logFile, onLine, log)
}
