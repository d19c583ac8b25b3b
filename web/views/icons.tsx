/** A decorative line drawing: the element around it has the label. */
function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export const SendIcon = () => <Icon path="M12 19V5M5.5 11.5 12 5l6.5 6.5" />;
export const StopIcon = () => <Icon path="M7.5 7.5h9v9h-9z" />;
export const SettingsIcon = () => <Icon path="M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5" />;
export const CloseIcon = () => <Icon path="M6 6l12 12M18 6 6 18" />;
export const DeleteIcon = () => (
  <Icon path="M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5" />
);
export const CopyIcon = () => <Icon path="M9 9h10.5v10.5H9zM15 9V4.5H4.5V15H9" />;
export const CodeIcon = () => <Icon path="M9 7.5 4.5 12 9 16.5M15 7.5l4.5 4.5-4.5 4.5" />;
export const RetryIcon = () => <Icon path="M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9M19.5 4.5V9H15" />;
export const NewIcon = () => <Icon path="M12 5v14M5 12h14" />;
export const ChevronIcon = () => <Icon path="M7 10l5 5 5-5" />;
export const FileIcon = () => <Icon path="M12 15.5V4.5M7.5 9 12 4.5 16.5 9M4.5 15.5v4h15v-4" />;
export const AttachIcon = () => (
  <Icon path="M18.5 11.5l-6.8 6.8a4 4 0 0 1-5.7-5.7l7.5-7.5a2.7 2.7 0 0 1 3.8 3.8l-7.4 7.4a1.3 1.3 0 0 1-1.9-1.9l6.2-6.2" />
);
export const EditIcon = () => <Icon path="M4.5 19.5l1-4L16 5l3 3L8.5 18.5zM14 7l3 3" />;
export const ForkIcon = () => <Icon path="M7 4.5v15M7 14c0-4 10-2 10-7.5M14 9l3-3 3 3" />;
export const BackIcon = () => <Icon path="M14 7l-5 5 5 5" />;
export const ForwardIcon = () => <Icon path="M10 7l5 5-5 5" />;
export const ListIcon = () => <Icon path="M4 6.5h16M4 12h16M4 17.5h10" />;
export const SearchIcon = () => <Icon path="M10.5 5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M14.5 14.5l5 5" />;
export const MoreIcon = () => <Icon path="M6 12h.01M12 12h.01M18 12h.01" />;
