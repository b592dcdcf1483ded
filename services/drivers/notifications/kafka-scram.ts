import { AuthenticationError, type SASLOptions, saslScramSha } from '@platformatic/kafka'

/**
 * Rounds over a password that a broker may ask for, which take half a second; Kafka's own are 4,096. They are computed on one of
 * the few threads that all files of this process are read on, and nothing ends them: billions would take hours.
 */
const maxRounds = 1_000_000

const crypto: typeof saslScramSha.defaultCrypto = {
  ...saslScramSha.defaultCrypto,
  hi: (definition, password, salt, rounds) =>
    rounds > maxRounds
      ? Promise.reject(
          new AuthenticationError(`The broker asks for ${rounds} rounds; at most ${maxRounds} are done.`),
        )
      : saslScramSha.defaultCrypto.hi(definition, password, salt, rounds),
}

/** Proves a user by SCRAM. Answers that are none are errors of the connection: the client would throw them where nobody catches them. */
export const authenticateByScram: NonNullable<SASLOptions['authenticate']> = (
  mechanism,
  connection,
  ask,
  username = '',
  password = '',
  _token,
  done,
) => {
  const asked = ((to: typeof connection, bytes: Buffer, answered: typeof done) =>
    ask(to, bytes, (error, answer) => {
      try {
        answered(error, answer)
      } catch (reason) {
        done(new AuthenticationError('The broker gave no answer of SCRAM.', { cause: reason as Error }))
      }
    })) as typeof ask
  const algorithm = mechanism === 'SCRAM-SHA-512' ? 'SHA-512' : 'SHA-256'
  saslScramSha.authenticate(asked, connection, algorithm, username, password, crypto, done)
}
