"""Operations: bulk actions that workers perform."""
