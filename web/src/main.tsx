// Entry: style sheets in order, providers, the app.
import './styles/fonts.css';
import 'virtual:mantine-variables.css';
import './styles/mantine.css';
import './styles/tokens.css';
import './styles/base.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { client } from './api/queries';
import { App } from './app';
import { useScheme } from './lib/scheme';
import { theme } from './theme';

function Root() {
  const scheme = useScheme();
  // Variables and classes come from style sheets (tools/plugins.ts), so that the page needs no inline <style>.
  return (
    <MantineProvider theme={theme} forceColorScheme={scheme} withCssVariables={false} withGlobalClasses={false} withStaticClasses>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  );
}
const root = document.getElementById('root');
if (root) createRoot(root).render(<Root />);
