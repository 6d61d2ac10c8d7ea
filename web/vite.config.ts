// The page's build: one entry, lazily loaded task tabs, hashed assets, nothing inline.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { mock } from './dev/mock.ts';
import { mantineVariables, themeStarter } from './tools/plugins.ts';

const server = process.env['STOKER_SERVER'] ?? 'http://127.0.0.1:8080';

export default defineConfig(({ mode }) => ({
  plugins: [react(), mantineVariables(), themeStarter(), ...(mode === 'mock' ? [mock()] : [])],
  server: mode === 'mock' ? {} : { proxy: { '/api': server, '/files': server } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
}));
