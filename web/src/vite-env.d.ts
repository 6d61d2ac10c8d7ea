/// <reference types="vite/client" />
declare module 'virtual:mantine-variables.css';
