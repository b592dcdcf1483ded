import { Alert, Code } from '@mantine/core'
import type { Contract } from '../../subjects/kit/contract.ts'

/** What stands where something would be that one may not see. */
export const NotAllowed = ({ contract }: { readonly contract: Contract }) => (
  <Alert color="gray" my="md" role="note">
    You do not have permission to view this. It requires permission to publish to{' '}
    <Code>{contract.subject}</Code>. Ask an administrator for a role with this permission.
  </Alert>
)
