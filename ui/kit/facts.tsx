import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** One thing known of an object, under what it is called. */
export const Fact = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <div>
    <Text size="sm" component="dt" fw={600}>
      {label}
    </Text>
    <Text component="dd" m={0}>
      {children}
    </Text>
  </div>
)

export const Facts = ({ children }: { readonly children: ReactNode }) => (
  <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 4 }} my="md" spacing="md">
    {children}
  </SimpleGrid>
)
