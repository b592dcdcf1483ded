import { Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Says that there is nothing yet, and what to do first. */
export const Empty = ({ children }: { readonly children: ReactNode }) => (
  <Text my="lg" component="div">
    {children}
  </Text>
)
