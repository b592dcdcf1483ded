import { List } from '@mantine/core'
import { platform } from '../../subjects/platform/platform.ts'
import { useAnswer } from '../data/calls.ts'
import { Failure } from './failure.tsx'
import { shownText } from './format.ts'
import { Status } from './status.tsx'

const everyMs = 15_000

/** The components of the platform, and how each is doing. */
export function Components() {
  const { data, error } = useAnswer(platform.health, {}, { everyMs })
  return (
    <>
      {/* One that is degraded is told as an error, which says what of it is. */}
      {error && <Failure title="Some components are not healthy" error={error} />}
      <List spacing="xs" listStyleType="none">
        {data?.components.map(({ name, healthy, message }) => (
          <List.Item key={name}>
            <Status of={healthy ? 'healthy' : 'not healthy'} /> {name}
            {message !== undefined && `: ${shownText(message)}`}
          </List.Item>
        ))}
      </List>
    </>
  )
}
